// SPDX-License-Identifier: Apache-2.0

package planning

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/authors"
	"evenkeel.dev/evenkeel/internal/canary"
	"evenkeel.dev/evenkeel/internal/kube"
	"evenkeel.dev/evenkeel/internal/prose"
	"evenkeel.dev/evenkeel/internal/remediate/record"
)

// candidate is a violating object that a plan may hold.
type candidate struct {
	object   v1alpha1.ObjectReference
	critical bool
	// stage is the place of the stage that the object belongs to.
	stage int
	// mayLead says whether the plan's first canary may be drawn from it.
	mayLead bool
	// reason says why the object can't be fixed; empty for eligible ones.
	reason, message string
	// heat is what the plan carries on of the object's fixes (Target.Heat).
	heat int32
	// told says that the owner of the object is to get the fix.
	told bool
	// manager is the tool that manages an eligible object.
	manager string
	// meta is the object's metadata, when a controller owns it.
	meta *metav1.PartialObjectMetadata
}

// skipReason is why a plan records the object before its rollout begins; empty
// for one whose matter its root's record settles.
func (c candidate) skipReason() string {
	if c.reason == v1alpha1.ReasonOwned && !c.told {
		return ""
	}
	return c.reason
}

// draft is a plan in the making.
type draft struct {
	policy *v1alpha1.ClusterRegoPolicy
	// named is the RemediationStrategy that the policy follows, nil where the defaults
	// apply; strategy is what it says, with defaults.
	named    *v1alpha1.RemediationStrategy
	strategy v1alpha1.RemediationStrategySpec
	// rollout is what both come to, within the administrator's limits: see limit.
	rollout  v1alpha1.PlannedRollout
	revision string
	// plans are the policy's earlier plans, oldest first.
	plans  []v1alpha1.Remediation
	stages *canary.Stages
	// tools finds the tools that manage objects.
	tools kube.Tools
	// eligible are the objects to fix; ineligible ones are only reported.
	eligible, ineligible []candidate
	// now is when its objects were chosen, and nextOptOutEnd how long from then the first opt-out among
	// them ends; zero for none.
	now           time.Time
	nextOptOutEnd time.Duration
	// waiting counts the objects that couldn't be fixed by earlier plans and
	// whose next try is still to come.
	waiting int
	// limited is what the administrator's flags have changed of what the policy asks for.
	limited []v1alpha1.AppliedLimit
	// mostInWave is the largest wave that the administrator allows; 0: any.
	mostInWave int
	// minSoak is the shortest soak that the administrator allows.
	minSoak time.Duration
	// keptBack are the namespaces in which breakers let nothing be written now, and why.
	keptBack map[string]string
	// leftOut are the namespaces whose objects aren't fixed now, and why; the reason
	// is that of their targets.
	leftOut map[string]LeftOut
	// told are the objects that the latest plan has left alone, by record.SkipKey.
	told map[string]bool
	// search is for its canary.
	search search
	hash   string
}

// origin tells apart what a draft is made by: the policy, the revision and the strategy.
func (d *draft) origin() string {
	of := fmt.Sprintf("%s/%d/%s", d.policy.UID, d.policy.Generation, d.revision)
	if d.named != nil {
		of += fmt.Sprintf("/%s/%d", d.named.UID, d.named.Generation)
	}
	return of
}

// planHash identifies a plan: what it fixes and by which rules (the revision, which the
// fix is part of), and how (the strategy). A rollout's hash also depends on the plan before
// it, so that the same drift, fixed twice, makes two plans; that of a dry run,
// and of a plan that only tells owners, doesn't, so that the same targets aren't
// previewed or told of twice. A shared strategy that is made anew ends what was planned by
// the one before: what it asks for is another plan, also where it says the same.
func planHash(d draft) string {
	h := sha256.New()
	write := func(parts ...string) {
		for _, p := range parts {
			fmt.Fprintf(h, "%d:%s", len(p), p)
		}
	}
	how, err := json.Marshal([]any{d.rollout, d.strategy})
	if err != nil {
		how = []byte(d.rollout.Mode) // it came from the API server as JSON
	}
	write(string(d.policy.UID), d.revision, string(how))
	if d.named != nil {
		write(string(d.named.UID), strconv.FormatInt(d.named.Generation, 10))
	}
	again := d.rollout.Mode.Runs() && len(d.eligible) > 0
	if again && len(d.plans) > 0 {
		write(string(d.plans[len(d.plans)-1].UID))
	}
	var uids []string
	for _, c := range d.eligible {
		uids = append(uids, fmt.Sprintf("%s/%d", c.object.UID, c.stage))
	}
	if !again {
		for _, c := range d.toTell() {
			uids = append(uids, c.reason+" "+c.object.UID)
		}
	}
	slices.Sort(uids)
	write(uids...)
	return hex.EncodeToString(h.Sum(nil))
}

// order puts the eligible objects into the order of the rollout.
func (d *draft) order() {
	list := make([]canary.Candidate, len(d.eligible))
	for i, c := range d.eligible {
		gvk := schema.FromAPIVersionAndKind(c.object.APIVersion, c.object.Kind)
		list[i] = canary.Candidate{Group: gvk.Group, Kind: gvk.Kind, Namespace: c.object.Namespace, Name: c.object.Name,
			Stage: c.stage, Critical: c.critical, Behind: !c.mayLead}
	}
	ordered := make([]candidate, 0, len(list))
	for _, i := range canary.Order(d.hash, list) {
		ordered = append(ordered, d.eligible[i])
	}
	d.eligible = ordered
}

// most is how many targets the plan may hold.
func (d *draft) most() int {
	if most := d.strategy.MaxTargets; most != nil {
		return min(max(int(*most), 0), d.capacity())
	}
	return d.capacity()
}

// capacity is how many targets the plan's slices have room for, with their records.
func (d *draft) capacity() int {
	perSlice := record.PlannedSliceBytes / (record.WeightOf(&d.rollout) + record.MaxTargetBytes)
	return min(v1alpha1.MaxTargets, v1alpha1.MaxSlices*perSlice)
}

// size is how many of the eligible objects the plan holds; the others wait for
// the next one.
func (d *draft) size() int { return min(len(d.eligible), d.most()) }

// leaders are the places of the objects that the first canary may be drawn from:
// those of the first stage that the canary's selector chooses.
func (d *draft) leaders() []int {
	var leaders []int
	for i, c := range d.eligible {
		if c.mayLead && c.stage == d.eligible[0].stage {
			leaders = append(leaders, i)
		}
	}
	return leaders
}

// toFront moves objects to the front, and keeps the order of the others.
func (d *draft) toFront(chosen []int) {
	front, moved := make([]candidate, 0, len(d.eligible)), make([]bool, len(d.eligible))
	for _, i := range chosen {
		front, moved[i] = append(front, d.eligible[i]), true
	}
	for i, c := range d.eligible {
		if !moved[i] {
			front = append(front, c)
		}
	}
	d.eligible = front
}

// layout gives the waves of the objects that the plan holds. The first canary
// takes none that it mustn't be drawn from.
func (d *draft) layout() (canary.Layout, error) {
	counts := make([]int, len(d.strategy.Stages)+1)
	leading, led := 0, true
	for _, c := range d.eligible[:d.size()] {
		counts[c.stage]++
		if led = led && c.mayLead && c.stage == d.eligible[0].stage; led {
			leading++
		}
	}
	layout, err := d.stages.Layout(counts, leading)
	if err != nil {
		return canary.Layout{}, fmt.Errorf("the strategy of policy %s: %w", d.policy.Name, err)
	}
	layout = layout.Split(d.mostInWave)
	for i := range layout.Waves {
		layout.Waves[i].Soak.Duration = max(layout.Waves[i].Soak.Duration, d.minSoak)
	}
	return layout, nil
}

// build makes the API objects of the plan.
func (d *draft) build() (*v1alpha1.Remediation, []*v1alpha1.RemediationSlice, error) {
	layout, err := d.layout()
	if err != nil {
		return nil, nil, err
	}
	d.limitWaves()
	targets := d.targets(&layout)
	rem := &v1alpha1.Remediation{
		ObjectMeta: metav1.ObjectMeta{Name: d.policy.Name + "-" + d.hash[:8], Finalizers: []string{v1alpha1.Finalizer},
			Labels: map[string]string{v1alpha1.LabelPolicy: d.policy.Name}},
		Spec: v1alpha1.RemediationSpec{
			Plan: v1alpha1.RemediationPlan{
				Policy: v1alpha1.PlannedPolicy{Name: d.policy.Name, UID: string(d.policy.UID),
					Generation: d.policy.Generation,
					Revision:   d.revision, Author: canary.Author(d.policy), Authors: authors.Of(d.policy).Users,
					Owner: d.policy.Spec.Owner, RunbookURL: d.policy.Spec.RunbookURL},
				Hash: d.hash, Rollout: d.rollout, StrategyRef: plannedStrategy(d.named), Targets: int32(len(targets)),
				Writable: int32(d.size()), Waves: layout.Waves, Stages: layout.Stages, Limits: d.limited}},
	}
	parts := split(rem, targets)
	for _, slice := range parts {
		rem.Spec.Plan.Slices = append(rem.Spec.Plan.Slices, slice.Name)
	}
	return rem, parts, nil
}

// targets are the objects that the plan holds, by wave. Waves are counted over
// those to fix; those that aren't ours come behind them, in the last wave, or in
// one of their own behind a canary that is alone. They are never written, and so
// count for no budget.
func (d *draft) targets(layout *canary.Layout) []v1alpha1.Target {
	size := d.size()
	targets := make([]v1alpha1.Target, 0, size+len(d.ineligible))
	waves := canary.Assign(size, layout.Waves)
	for i, c := range d.eligible[:size] {
		targets = append(targets,
			v1alpha1.Target{Object: c.object, Wave: waves[i], Heat: c.heat, ExcludedFromCanary: !c.mayLead})
	}
	alone := layout.IsCanary(int32(len(layout.Waves) - 1))
	others := d.skipped(alone)
	if len(others) > 0 && (alone || size == 0) {
		layout.Waves = append(layout.Waves, v1alpha1.PlannedWave{})
		if size > 0 { // a candidate that can't be the canary may come into it
			layout.Waves[len(layout.Waves)-1].Soak = layout.Waves[len(layout.Waves)-2].Soak
		}
	}
	last := len(layout.Waves) - 1
	for _, c := range others {
		targets = append(targets,
			v1alpha1.Target{Object: c.object, Wave: int32(last), Heat: c.heat, SkipReason: c.skipReason()})
		layout.Waves[last].Targets++
	}
	return targets
}

// skipped returns the objects of the plan that aren't ours to fix. What is judged
// at its root has a place only behind a rollout of waves.
func (d *draft) skipped(canaryAlone bool) []candidate {
	others := d.toTell()
	for _, c := range d.ineligible {
		if len(d.eligible) > 0 && !c.told && (c.skipReason() != "" || !canaryAlone) {
			others = append(others, c)
		}
	}
	return others[:min(len(others), maxTold, d.capacity()-d.size())]
}

// announce tells what the plan holds, stage by stage, and what waits for the next.
func (d *draft) announce(rem *v1alpha1.Remediation) string {
	if len(d.eligible) == 0 {
		n := rem.Spec.Plan.Targets
		return fmt.Sprintf("%s that %s policy %s %s others' to fix: their owners get the fix as a diff",
			prose.Count(n, "object"), prose.Verb(n, "violates", "violate"), d.policy.Name, prose.Verb(n, "is", "are"))
	}
	held := fmt.Sprintf("%d", rem.Spec.Plan.Targets)
	if d.size() < len(d.eligible) {
		held = fmt.Sprintf("%d of %d", d.size(), len(d.eligible))
	}
	text := fmt.Sprintf("%s targets of policy %s in waves of %v", held, d.policy.Name,
		canary.Targets(rem.Spec.Plan.Waves))
	for i, stage := range rem.Spec.Plan.Stages {
		end := len(rem.Spec.Plan.Waves)
		if i+1 < len(rem.Spec.Plan.Stages) {
			end = int(rem.Spec.Plan.Stages[i+1].FirstWave)
		}
		text += fmt.Sprintf("; %s %v", stage.Name, canary.Targets(rem.Spec.Plan.Waves[stage.FirstWave:end]))
	}
	for _, limit := range d.limited {
		text += "; " + limit.String()
	}
	text += d.outside()
	if d.size() < len(d.eligible) {
		text += "; the others wait for the next plan (maxTargets)"
	}
	return text
}

// split puts targets into slices: at most MaxTargetsPerSlice each, and no more than have
// room for the records that the strategy's actions may need.
func split(rem *v1alpha1.Remediation, targets []v1alpha1.Target) []*v1alpha1.RemediationSlice {
	var parts []*v1alpha1.RemediationSlice
	for _, chunk := range chunks(targets, record.WeightOf(&rem.Spec.Plan.Rollout)) {
		parts = append(parts, &v1alpha1.RemediationSlice{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s-%d", rem.Name, len(parts)),
				Labels: map[string]string{v1alpha1.LabelPolicy: rem.Labels[v1alpha1.LabelPolicy],
					v1alpha1.LabelRemediation: rem.Name}},
			Remediation: rem.Name, Index: int32(len(parts)), Targets: chunk,
			Progress: v1alpha1.SliceProgress{Targets: int32(len(chunk))},
		})
	}
	return parts
}

// chunks cuts targets into the parts that a slice has room for, when each has a record
// of some weight in bytes.
func chunks(targets []v1alpha1.Target, weight int) [][]v1alpha1.Target {
	var out [][]v1alpha1.Target
	first, size := 0, 0
	for i := range targets {
		each := record.EncodedBytes(&targets[i]) + weight
		if i > first && (i-first == v1alpha1.MaxTargetsPerSlice || size+each > record.PlannedSliceBytes) {
			out, first, size = append(out, targets[first:i:i]), i, 0
		}
		size += each
	}
	return append(out, targets[first:])
}
