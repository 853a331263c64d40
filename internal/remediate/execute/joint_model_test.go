// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
	"evenkeel.dev/evenkeel/internal/remediate/budget"
	"evenkeel.dev/evenkeel/internal/remediate/record"
	"evenkeel.dev/evenkeel/internal/rollout"
	"evenkeel.dev/evenkeel/test/fixtest"
)

// act is one thing that the controller does for one of several plans for one object, and
// what happens meanwhile.
type act struct {
	Do   string // write, resolve, verify or undo
	Plan int
	Dies int           // the controller dies instead of saving for the nth time; zero: it lives
	Met  string        // what a write meets: see patch
	Then time.Duration // what passes until the next
}

// What others make of a key: a neighbour's value, and what a webhook bends a write to.
const theirs, bent = "theirs", "bent"

func acts() *rapid.Generator[[]act] {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) act {
		return act{Do: rapid.SampledFrom([]string{"write", "write", "resolve", "verify", "verify", "undo"}).Draw(
			t, "do"), Plan: rapid.IntRange(0, 2).Draw(t, "plan"),
			Dies: rapid.SampledFrom([]int{0, 0, 0, 1, 2, 3, 4}).Draw(t, "dies"),
			Met: rapid.SampledFrom(
				[]string{"", "", "", "denied", "out", "lost", "grows", "grows", "bends", "grows lost",
					"bends lost"}).Draw(t, "met"),
			Then: time.Duration(rapid.SampledFrom([]int{0, 1, 180}).Draw(t, "then")) * time.Second}
	}), 1, 14)
}

// jointPlay plays several plans for one object through the controller's own executor.
// What is kept from act to act is what was persisted, and the object.
type jointPlay struct {
	*company
	ctx   context.Context
	clock *clocktesting.FakePassiveClock
	now   act
	was   []v1alpha1.TargetState // before this act
	saves int
	dead  bool
	sent  int               // writes of this act
	back  map[string]string // what its undoing is to leave
	// owner is whose write has put what a key of the object holds.
	owner  map[string]owned
	broken error
	// grown is which plan's write, or undoing, has brought a field that nobody asked for.
	grown map[string]int
	// vain are the writes that a webhook has bent to what was there before: who has the
	// answer tells of its write, of which the object shows nothing.
	vain map[vainWrite]bool
}

// owned is what a plan's write has put into a key, with what it found there.
type owned struct {
	plan   int
	before string
	prior  *owned // whose that was
}

func newJointPlay(t *testing.T, known *catalog.Snapshot, policies []*v1alpha1.ClusterRegoPolicy) *jointPlay {
	c := companyOf(t, known, policies...)
	j := &jointPlay{company: c, ctx: t.Context(), clock: clocktesting.NewFakePassiveClock(fixtest.Now),
		owner: map[string]owned{}, grown: map[string]int{}, vain: map[vainWrite]bool{}}
	web, shop := &corev1.ConfigMap{}, &corev1.Namespace{}
	for key, obj := range map[client.ObjectKey]client.Object{
		{Namespace: "shop", Name: "web"}: web, {Name: "shop"}: shop} {
		if err := c.api.Get(j.ctx, key, obj); err != nil {
			t.Fatal(err)
		}
		obj.SetResourceVersion("")
	}
	c.api = fake.NewClientBuilder().WithObjects(web, shop).WithInterceptorFuncs(
		interceptor.Funcs{Patch: j.patch}).Build()
	c.saver = func(int) error {
		if j.saves++; j.now.Dies > 0 && j.saves >= j.now.Dies {
			j.dead = true
			return errors.New("the controller died")
		}
		return nil
	}
	for i, p := range c.passes {
		p.Targets.Reader, p.Targets.Writer, p.Targets.Clock = c.api, c.api, j.clock
		c.saved[i] = *p.Records.Record(0).DeepCopy()
		p.Partners = func(context.Context, map[string]bool) []*Partner { return j.ready(i) }
	}
	return j
}

func (j *jointPlay) fault(format string, args ...any) {
	if j.broken == nil {
		j.broken = fmt.Errorf("%+v: "+format, append([]any{j.now}, args...)...)
	}
}

// ready are the other plans that would write the object now.
func (j *jointPlay) ready(lead int) []*Partner {
	var out []*Partner
	for i, p := range j.passes {
		if i != lead && j.pending(i) {
			out = append(out, &Partner{Pass: p, Ready: map[string]int{"u1": 0}, Room: 1, Leave: func() {}})
		}
	}
	return out
}

func (j *jointPlay) pending(i int) bool {
	next := j.saved[i].NextAttemptTime
	return j.saved[i].State == v1alpha1.TargetPending && (next == nil || !next.After(j.clock.Now()))
}

// claimed says whether another plan has the object in work, as claims do.
func (j *jointPlay) claimed(own int) bool {
	for i, p := range j.passes {
		if i != own && budget.InWork(p.Remediation, &j.saved[i]) {
			return true
		}
	}
	return false
}

// step carries out one act as the machine would ask for it, from what is persisted.
func (j *jointPlay) step(a act) error {
	a.Plan %= len(j.passes)
	j.now, j.was, j.saves, j.dead, j.sent, j.back = a, nil, 0, false, 0, map[string]string{}
	for i, p := range j.passes {
		*p.Records.Record(0) = *j.saved[i].DeepCopy()
		j.was = append(j.was, j.saved[i].State)
	}
	p, rec := j.passes[a.Plan], &j.saved[a.Plan]
	before := rec.State
	switch {
	case a.Do == "write" && j.pending(a.Plan) && !j.claimed(a.Plan):
		_ = p.Work(j.ctx, rollout.Intent{Write: []int{0}})
	case a.Do == "resolve" && (rec.State == v1alpha1.TargetIntent || rec.State == v1alpha1.TargetPending &&
		record.MayLand(rec)):
		_ = p.Work(j.ctx, rollout.Intent{Resolve: []int{0}})
	case a.Do == "verify" && rec.Recovering:
		rec.Recovering = false
	case a.Do == "verify" && rec.State == v1alpha1.TargetApplied:
		o := &rollout.Observation{Spec: p.Remediation.Spec, Targets: p.Records.Views()}
		o.Status.Wave, o.Status.Phase = 1, v1alpha1.PhaseVerifying
		if p.CheckAll(j.ctx, o); o.Targets[0].Check.Result == rollout.CheckPassed {
			rec.State = v1alpha1.TargetDone
		}
	case a.Do == "undo" && (before == v1alpha1.TargetApplied || before == v1alpha1.TargetIntent ||
		before == v1alpha1.TargetDone):
		_ = p.Work(j.ctx, rollout.Intent{Revert: []int{0}})
	}
	j.check()
	j.clock.SetTime(j.clock.Now().Add(a.Then))
	return j.broken
}

// patch is the API server with a neighbour's webhook: it denies a write, gives no answer
// ("out": nothing is stored), loses the server's ("lost"), adds a field at the write
// alone ("grows"), or sets what is written to its own value ("bends").
func (j *jointPlay) patch(ctx context.Context, api client.WithWatch, obj client.Object, patch client.Patch,
	opts ...client.PatchOption) error {
	if len((&client.PatchOptions{}).ApplyOptions(opts).DryRun) > 0 {
		return fixtest.Patch(ctx, api, obj, patch, opts...)
	}
	if j.sent++; j.sent > 1 || j.dead || j.now.Do != "write" && j.now.Do != "undo" {
		j.fault("write number %d is sent, by a controller that died: %t", j.sent, j.dead)
	}
	switch j.now.Met {
	case "denied":
		return apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "web",
			errors.New(`admission webhook "x.example.com" denied the request: no`))
	case "out":
		return apierrors.NewInternalError(
			errors.New(`failed calling webhook "x.example.com": context deadline exceeded`))
	}
	before := j.data()
	if err := fixtest.Patch(ctx, api, obj, patch, opts...); err != nil {
		return err
	}
	j.stored(before, j.data())
	if err := j.mutate(ctx, api, obj, before); err != nil {
		return err
	}
	if strings.HasSuffix(j.now.Met, "lost") {
		return apierrors.NewTimeoutError("the answer is lost", 1)
	}
	return nil
}

func (j *jointPlay) mutate(ctx context.Context, api client.WithWatch, obj client.Object,
	before map[string]string) error {
	met := strings.TrimSuffix(j.now.Met, " lost")
	if met != "grows" && met != "bends" {
		return nil
	}
	web, key := &corev1.ConfigMap{}, client.ObjectKey{Namespace: "shop", Name: "web"}
	if err := api.Get(ctx, key, web); err != nil {
		return err
	}
	changed := changedKeys(before, web.Data)
	switch {
	case met == "bends" && j.now.Do == "undo":
		web.Data[changed[len(changed)-1]] = theirs
		delete(j.owner, changed[len(changed)-1])
	case met == "bends":
		key := changed[len(changed)-1]
		web.Data[key] = bent
		j.bentBack(key)
	case j.now.Do == "write":
		j.grow(web.Data, "extra")
	default:
		j.grow(web.Data, "more")
	}
	if err := api.Update(ctx, web); err != nil {
		return err
	}
	return api.Get(ctx, key, obj)
}

// vainWrite is a plan's write of a key.
type vainWrite struct {
	plan int
	key  string
}

// bentBack: a value that is bent to what was there before the write is as if it hadn't been
// written, for whoever reads the object.
func (j *jointPlay) bentBack(key string) {
	own, is := j.owner[key]
	if !is || own.before != bent {
		return
	}
	j.vain[vainWrite{own.plan, key}] = true
	switch {
	case own.prior == nil:
		delete(j.owner, key)
	default:
		j.owner[key] = *own.prior
	}
}

func (j *jointPlay) grow(data map[string]string, key string) {
	if _, there := data[key]; !there {
		data[key], j.grown[key] = theirs, j.now.Plan
	}
}

func changedKeys(before, after map[string]string) []string {
	var out []string
	for _, key := range []string{"a", "b", "c", "extra"} {
		was, had := before[key]
		if is, has := after[key]; is != was || has != had {
			out = append(out, key)
		}
	}
	return out
}

// tellsOf says whether a record tells of a key.
func tellsOf(rec v1alpha1.TargetRecord, key string) bool {
	return rec.Write != nil && slices.ContainsFunc(rec.Write.Fields, func(f v1alpha1.FieldChange) bool {
		return f.Path == "/data/"+key
	})
}

// stored judges a write that has reached the object: each field of it is in the persisted
// record of one plan, and nobody else has the object in work; an undoing takes back what
// its plan has put there.
func (j *jointPlay) stored(before, after map[string]string) {
	if j.now.Do == "undo" {
		for _, key := range changedKeys(before, after) {
			own, is := j.owner[key]
			if key != "extra" && (!is || own.plan != j.now.Plan || after[key] != own.before) {
				j.fault("%s is set from %q to %q by the undoing; whose it was: %+v (%t)", key, before[key], after[key],
					own, is)
			}
			delete(j.owner, key)
			if key != "extra" {
				j.back[key] = own.before
			}
			if own.prior != nil {
				j.owner[key] = *own.prior
			}
		}
		return
	}
	for key, own := range j.owner {
		if rec := j.saved[own.plan]; rec.State != v1alpha1.TargetDone && rec.Reason != v1alpha1.ReasonConflict {
			j.fault("the object is written while plan %d has it in work: %s is its, %s", own.plan, key, rec.State)
		}
	}
	for _, key := range changedKeys(before, after) {
		recorded, had := 0, (*owned)(nil)
		if own, is := j.owner[key]; is {
			had = &own
		}
		for i, rec := range j.saved {
			if rec.State == v1alpha1.TargetIntent && tellsOf(rec, key) {
				recorded++
				j.owner[key] = owned{plan: i, before: before[key], prior: had}
			}
		}
		if recorded != 1 {
			j.fault("%s is written, and in the persisted records of %d plans", key, recorded)
		}
	}
}

// check judges what is persisted: of what each plan has put into the object it has the
// record, of nothing else, and nothing is told as done or undone that isn't.
func (j *jointPlay) check() {
	data := j.data()
	for key, own := range j.owner {
		rec := j.saved[own.plan]
		lost := !tellsOf(rec, key) || rec.State == v1alpha1.TargetReverted || rec.State == v1alpha1.TargetFailed &&
			rec.Reason != v1alpha1.ReasonConflict
		if lost {
			j.fault("%s holds what plan %d wrote, whose record is %s (%s)", key, own.plan, rec.State, rec.Reason)
		}
	}
	for i, rec := range j.saved {
		for _, key := range []string{"a", "b", "c"} {
			own, is := j.owner[key]
			vain := j.vain[vainWrite{i, key}]
			if rec.State == v1alpha1.TargetApplied && j.was[i] != rec.State && tellsOf(rec, key) &&
				(!is || own.plan != i) && !vain {
				j.fault("plan %d is %s, and has recorded %s, which isn't its write", i, rec.State, key)
			}
			if rec.State == v1alpha1.TargetDone && tellsOf(rec, key) && own.plan == i && is &&
				(!strings.HasPrefix(data[key], "good") || rec.Reason != "") {
				j.fault("plan %d is Done (%s), and %s is %q", i, rec.Reason, key, data[key])
			}
		}
	}
	j.checkUndone(data)
	j.checkSurplus(data)
}

// checkUndone: what is told as undone by this act holds what was there before.
func (j *jointPlay) checkUndone(data map[string]string) {
	if j.now.Do != "undo" || j.sent == 0 || j.saved[j.now.Plan].State != v1alpha1.TargetReverted {
		return
	}
	for key, want := range j.back {
		if data[key] != want {
			j.fault("plan %d is Reverted, and %s is %q, not %q", j.now.Plan, key, data[key], want)
		}
	}
}

// checkSurplus: what a write got beside its dry run is in the record of the plan that led,
// once its answer is known, is a failure, and goes with its undoing.
func (j *jointPlay) checkSurplus(data map[string]string) {
	lead := j.saved[j.now.Plan]
	if j.now.Do == "write" && j.now.Met == "grows" && j.sent > 0 && lead.State == v1alpha1.TargetApplied &&
		!(tellsOf(lead, "extra") && lead.Reason == v1alpha1.ReasonFixChangesMore) {
		j.fault("the write got more than its dry run said, and plan %d is %s (%s)", j.now.Plan, lead.State, lead.Reason)
	}
	if plan, grown := j.grown["extra"]; grown {
		rec := j.saved[plan]
		if well := rec.State == v1alpha1.TargetApplied || rec.State == v1alpha1.TargetDone; well &&
			rec.Reason != v1alpha1.ReasonFixChangesMore {
			j.fault("the write of plan %d got more than its dry run said, and it is %s (%s)", plan, rec.State,
				rec.Reason)
		}
		if rec.State == v1alpha1.TargetReverted && data["extra"] != "" {
			j.fault("plan %d is Reverted, and what came with its write stays", plan)
		}
		if data["extra"] == "" {
			delete(j.grown, "extra")
		}
	}
	if plan, grown := j.grown["more"]; grown && j.saved[plan].State == v1alpha1.TargetReverted {
		j.fault("plan %d is Reverted, and its undoing brought more", plan)
	}
	for i, rec := range j.saved {
		extra := tellsOf(rec, "extra")
		if rec.State == v1alpha1.TargetDone && extra {
			j.fault("plan %d got more than its dry run said, and is Done", i)
		}
		if j.now.Do == "undo" && i == j.now.Plan && j.sent > 0 && rec.State == v1alpha1.TargetReverted && extra &&
			data["extra"] != "" {
			j.fault("plan %d is Reverted, and its surplus stays", i)
		}
	}
}

// Several plans for one object, by the controller's own executor: whoever leads, whatever
// a neighbour's webhook does, wherever the controller dies, one write at a time is in
// work, each field of it is recorded before by the one plan whose part it is, a conflict
// never goes along, and an undoing takes back its own plan's part alone.
func TestJointWritesKeepTheRules(t *testing.T) {
	t.Parallel()
	fixes := [][2]string{{"a", "good"}, {"a", "goodish"}, {"b", "good"}, {"c", "good"}}
	compiled := map[string]*catalog.Snapshot{}
	rapid.Check(t, func(rt *rapid.T) {
		var policies []*v1alpha1.ClusterRegoPolicy
		var names string
		for _, n := range rapid.Permutation([]int{0, 1, 2, 3}).Draw(
			rt, "fixes")[:rapid.IntRange(2, 3).Draw(rt, "plans")] {
			name := fixes[n][0] + "-" + fixes[n][1]
			policies = append(policies, wants(name, fixes[n][0], fixes[n][1]))
		}
		sorted := slices.Clone(policies)
		slices.SortFunc(sorted, func(a, b *v1alpha1.ClusterRegoPolicy) int { return strings.Compare(a.Name, b.Name) })
		for _, p := range sorted {
			names += p.Name + " "
		}
		if compiled[names] == nil {
			compiled[names] = known(t, sorted...)
		}
		j := newJointPlay(t, compiled[names], policies)
		for _, a := range acts().Draw(rt, "acts") {
			if err := j.step(a); err != nil {
				rt.Fatalf("%v\nthe records: %q\nthe object: %v", err, j.persisted(), j.data())
			}
		}
	})
}
