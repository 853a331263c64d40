// SPDX-License-Identifier: Apache-2.0

package fix

import (
	"context"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/action"
	"evenkeel.dev/evenkeel/internal/permissions"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/test/fixtest"
)

// What a controller makes, or a tool keeps in step, is left to its owner, who gets the fix.
func TestAnObjectIsLeftToWhoeverMakesIt(t *testing.T) {
	yes := true
	owned := func(d *desk) {
		d.change(func(web *corev1.ConfigMap) {
			web.OwnerReferences = []metav1.OwnerReference{
				{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "rs", UID: "rs1", Controller: &yes}}
		})
	}
	rs := func(annotations map[string]string) *appsv1.ReplicaSet {
		return &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "rs", UID: "rs1",
			Annotations: annotations}}
	}
	argo := map[string]string{"argocd.argoproj.io/tracking-id": "shop:/x:shop/web"}
	judgesRoot := func(found *policy.Decision) func(*desk) {
		return func(d *desk) {
			owned(d)
			bad := d.judges["state"]
			d.judges["state"] = func(object map[string]any) *policy.Decision {
				if object["kind"] == "ReplicaSet" {
					return found
				}
				return bad(object)
			}
		}
	}
	both := func(first, second func(*desk)) func(*desk) { return func(d *desk) { first(d); second(d) } }
	violates := &policy.Decision{Violations: []policy.Violation{{Message: "bad"}}}
	cases := map[string]struct {
		reason   string
		objects  []client.Object
		given    func(*desk)
		want     v1alpha1.TargetState
		why      string
		says     string
		proposed bool
		told     bool
	}{
		"nobody makes it": {reason: "it may be fixed", given: func(*desk) {}, want: v1alpha1.TargetIntent},
		"Argo CD keeps it in step": {reason: "it would undo the fix",
			given: func(d *desk) { d.change(func(web *corev1.ConfigMap) { web.Annotations = argo }) },
			want:  v1alpha1.TargetSkipped, why: v1alpha1.ReasonManaged, says: "fix it at its source", proposed: true,
			told: true},
		"Argo CD keeps it in step, and the strategy says to fix it": {reason: "a person said so",
			given: func(d *desk) {
				d.change(func(web *corev1.ConfigMap) { web.Annotations = argo })
				d.Plan.Rollout.ManagedObjects = v1alpha1.ManagedRemediate
			}, want: v1alpha1.TargetIntent},
		"no fix can be proposed": {reason: "that is told too", given: func(d *desk) {
			d.change(func(web *corev1.ConfigMap) { web.Annotations = argo })
			d.proposes(fixtest.SetState("bad"))
		}, want: v1alpha1.TargetSkipped, why: v1alpha1.ReasonManaged, says: "no fix can be proposed: the fix leaves",
			told: true},
		"a controller makes it, which isn't judged": {reason: "its owner gets the fix",
			objects: []client.Object{rs(nil)}, given: judgesRoot(nil), want: v1alpha1.TargetSkipped,
			why: v1alpha1.ReasonOwned, says: "fix the ReplicaSet", proposed: true, told: true},
		"its controller is Argo CD's": {reason: "the source is elsewhere", objects: []client.Object{rs(argo)},
			given: judgesRoot(nil), want: v1alpha1.TargetSkipped, why: v1alpha1.ReasonOwned,
			says: "manages the ReplicaSet: fix it at its source", proposed: true, told: true},
		"its controller is gone": {reason: "nobody knows the root", given: owned, want: v1alpha1.TargetSkipped,
			why: v1alpha1.ReasonOwned, proposed: true, told: true},
		"its controller violates too": {reason: "it is fixed there", objects: []client.Object{rs(nil)},
			given: judgesRoot(violates), want: v1alpha1.TargetSkipped, why: v1alpha1.ReasonOwned,
			says: "it is fixed there"},
		"its controller can't be judged": {reason: "that is told there", objects: []client.Object{rs(nil)},
			given: judgesRoot(&policy.Decision{Err: context.Canceled}), want: v1alpha1.TargetSkipped,
			why: v1alpha1.ReasonOwned, says: "it is fixed there"},
		"its controller is clean": {reason: "it replaces what it made", objects: []client.Object{rs(nil)},
			given: judgesRoot(&policy.Decision{}), want: v1alpha1.TargetSkipped, why: v1alpha1.ReasonOwned,
			says: "finds nothing wrong with the ReplicaSet"},
		"its controller can't be read": {reason: "it is tried again", objects: []client.Object{rs(nil)},
			given: both(owned, func(d *desk) { d.unreadable("rs", unavailable()) }), want: v1alpha1.TargetPending,
			why: v1alpha1.ReasonRetrying, says: "try again"},
		"it is evicted": {reason: "that is the controller's own way", objects: []client.Object{rs(nil)},
			given: both(owned, func(d *desk) { d.proposes(policy.Action{Type: policy.ActionEvict}) }),
			want:  v1alpha1.TargetFailed, why: v1alpha1.ReasonFixInvalid},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, tc.objects...)
			tc.given(d)
			got := d.Prepare(t.Context())
			if got.State != tc.want || got.Reason != tc.why || !strings.Contains(got.Message, tc.says) ||
				(got.Proposal != "") != tc.proposed || LeftToOwner(&got) != tc.told {
				t.Errorf("%s: %s (%s): %s, with the proposal %q", tc.reason, got.State, got.Reason, got.Message,
					got.Proposal)
			}
			if note := ProposalNote(got); !strings.HasPrefix(note, got.Message) ||
				strings.Contains(note, "The fix, whole in the plan's slice") != tc.proposed {
				t.Errorf("%s: the note is %q", tc.reason, note)
			}
		})
	}
}

// A policy judges a kind where it matches its group and its name.
func TestWhichKindsAPolicyJudges(t *testing.T) {
	p := fixtest.Verdicts{"state": nil}
	p["state"] = fixtest.BadState()
	for ref, want := range map[v1alpha1.ObjectReference]bool{
		{APIVersion: "v1", Kind: "ConfigMap"}: true, {APIVersion: "apps/v1", Kind: "ReplicaSet"}: true,
		{APIVersion: "example.com/v1", Kind: "ConfigMap"}: false, {APIVersion: "v1", Kind: "Pod"}: false} {
		if got := JudgesKind(p.Definition("state"), ref); got != want {
			t.Errorf("%s: %t", ref.String(), got)
		}
	}
	if JudgesKind(nil, v1alpha1.ObjectReference{APIVersion: "v1", Kind: "ConfigMap"}) {
		t.Error("a policy that doesn't exist judges")
	}
}

// Owners are read by their metadata, each once.
func TestOwnersAreReadOnce(t *testing.T) {
	d, reads := newDesk(t), 0
	d.intercepts(interceptor.Funcs{Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey,
		obj client.Object, opts ...client.GetOption) error {
		reads++
		return c.Get(ctx, key, obj, opts...)
	}})
	for range 2 {
		web := &metav1.PartialObjectMetadata{}
		web.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"})
		key := client.ObjectKey{Namespace: "shop", Name: "web"}
		if err := d.Targets.Owners.Get(t.Context(), key, web); err != nil || web.UID != "u1" || reads != 1 {
			t.Errorf("%+v after %d reads: %v", web, reads, err)
		}
	}
	if err := d.Targets.Owners.Get(t.Context(), client.ObjectKey{}, &corev1.ConfigMap{}); err == nil {
		t.Error("an owner is read whole")
	}
	if obj := d.read(); obj == nil || reads != 2 {
		t.Errorf("targets are remembered: %d reads", reads)
	}
	for range 2 { // namespaces are, once in a reconcile
		if ns, err := d.Targets.NamespaceOf(t.Context(), d.read()); err != nil || ns.GetName() != "shop" {
			t.Errorf("%v, %v", ns, err)
		}
	}
	if reads != 5 {
		t.Errorf("%d reads, want two of the target more and one of its namespace", reads)
	}
	if ns, err := d.Targets.NamespaceOf(t.Context(), fixtest.Widget(nil)); ns != nil || err != nil {
		t.Errorf("an object in no namespace lives in %v: %v", ns, err)
	}
}

// An object that was to be left alone is looked at, and never written.
func TestLookingSaysWhyAnObjectIsLeftAlone(t *testing.T) {
	cases := map[string]struct {
		skip     string
		given    func(*desk)
		why      string
		proposed bool
	}{
		"somebody keeps setting it back": {skip: v1alpha1.ReasonFighting, why: v1alpha1.ReasonFighting, proposed: true},
		"a plan failed in its namespace": {skip: v1alpha1.ReasonNamespaceFailed, why: v1alpha1.ReasonNamespaceFailed},
		"a breaker kept it back":         {skip: v1alpha1.ReasonBreakerOpen, why: v1alpha1.ReasonBreakerOpen},
		"it may be fixed by now":         {skip: v1alpha1.ReasonOwned, why: v1alpha1.ReasonReplanned},
		"it is clean by now": {skip: v1alpha1.ReasonFighting, why: v1alpha1.ReasonAlreadyClean,
			given: func(d *desk) { d.says("state", policy.Decision{}) }},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.Target.SkipReason = tc.skip
			if tc.given != nil {
				tc.given(d)
			}
			got := d.Look(t.Context())
			if got.State != v1alpha1.TargetSkipped || got.Reason != tc.why || (got.Proposal != "") != tc.proposed {
				t.Errorf("%s (%s): %s", got.State, got.Reason, got.Message)
			}
		})
	}
	for reason, want := range map[string]bool{v1alpha1.ReasonManaged: true, v1alpha1.ReasonOwned: false} {
		if got := LeftToOwner(&v1alpha1.TargetRecord{Reason: reason}); got != want {
			t.Errorf("%s without a proposal is left to its owner: %t", reason, got)
		}
	}
}

// The limits of a record are met, and not passed.
func TestARecordWithinItsLimits(t *testing.T) {
	field := func(path string, value any) action.Field {
		return action.Field{Path: path, After: value, HasAfter: true}
	}
	op := func(path, from string) policy.PatchOp { return policy.PatchOp{Op: "copy", Path: path, From: from} }
	fields := func(n int) (out []action.Field) {
		for range n {
			out = append(out, field("/a", nil))
		}
		return out
	}
	long := "/" + strings.Repeat("x", maxPathBytes-1)
	size := func(n int) *Write { return &Write{Fields: []action.Field{field("/a", strings.Repeat("x", n))}} }
	overhead := 0
	for n := maxRecordBytes; ; n-- {
		if RecordWithinLimit(t.Context(), &Attempt{Targets: targetsAt(fixtest.Now), Writes: []*Write{size(n)}}) == nil {
			overhead = maxRecordBytes - n
			break
		}
	}
	if overhead < 20 || overhead > 120 {
		t.Errorf("beside its value a record takes %d bytes", overhead)
	}
	cases := map[string]struct {
		write *Write
		fits  bool
	}{
		"as many fields as may be": {&Write{Fields: fields(maxRecordItems)}, true},
		"one field more":           {&Write{Fields: fields(maxRecordItems + 1)}, false},
		"one key more":             {&Write{Keys: make([]policy.PatchOp, maxRecordItems+1)}, false},
		"as many operations as may be": {&Write{Step: action.Step{Ops: make([]policy.PatchOp, maxRecordItems)}},
			true},
		"one operation more": {&Write{Step: action.Step{Ops: make([]policy.PatchOp, maxRecordItems+1)}},
			false},
		"a path as long as may be":         {&Write{Fields: []action.Field{field(long, nil)}}, true},
		"a longer path":                    {&Write{Fields: []action.Field{field(long+"x", nil)}}, false},
		"a longer path of an operation":    {&Write{Step: action.Step{Ops: []policy.PatchOp{op(long+"x", "")}}}, false},
		"a longer source of an operation":  {&Write{Step: action.Step{Ops: []policy.PatchOp{op("", long+"x")}}}, false},
		"a longer path of a key":           {&Write{Keys: []policy.PatchOp{op(long+"x", "")}}, false},
		"values that can't be encoded":     {&Write{Fields: []action.Field{field("/a", func() {})}}, false},
		"a manifest as large as may be":    {manifestOfSize(maxRecordBytes - 8), true},
		"a manifest larger than it may be": {manifestOfSize(maxRecordBytes + 1), false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			a := &Attempt{Targets: targetsAt(fixtest.Now), Writes: []*Write{tc.write}}
			if rec := RecordWithinLimit(t.Context(), a); (rec == nil) != tc.fits {
				t.Errorf("got %+v", rec)
			}
		})
	}
	d := newDesk(t)
	if rec := d.TooLarge("no room"); rec.Proposal != "" || rec.Reason != v1alpha1.ReasonFixTooLarge {
		t.Errorf("before the fix is computed: %+v", rec)
	}
	w, _ := d.recorded(0)
	if rec := d.TooLarge("no room"); rec.Proposal == "" {
		t.Error("the owner doesn't get the fix")
	}
	if w.Record.Expected.Places == nil {
		t.Fatal("the proof tells no places")
	}
	if d.ProveBriefly(); w.Record.Expected == nil || w.Record.Expected.Places != nil {
		t.Errorf("the brief proof is %+v", w.Record.Expected)
	}
	d.Patched = nil
	if rec := d.TooLarge("no room"); rec.Proposal != "" {
		t.Error("what is removed is proposed as a diff")
	}
}

// What comes with a write is recorded up to the limits of records, too.
func TestWhatIsAddedToARecordHasLimits(t *testing.T) {
	cases := map[string]struct {
		fields int
		more   action.Field
		added  bool
	}{
		"one more":          {1, action.Field{Path: "/b", After: "x", HasAfter: true}, true},
		"as many as may be": {maxRecordItems - 1, action.Field{Path: "/b", After: "x", HasAfter: true}, true},
		"one too many":      {maxRecordItems, action.Field{Path: "/b", After: "x", HasAfter: true}, false},
		"a path as long as may be": {1, action.Field{Path: "/" + strings.Repeat("b", maxPathBytes-1), HasAfter: true},
			true},
		"a path that is too long": {1, action.Field{Path: "/" + strings.Repeat("b", maxPathBytes), HasAfter: true},
			false},
		"a Secret's value": {
			1, action.Field{Path: "/metadata/labels/b", After: "hunter2hunter2", HasAfter: true}, false},
	}
	secret := fixtest.Holding(map[string]any{"password": "hunter2hunter2"}, "Secret")
	secrets := policy.SecretsOf(secret.Object)
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var fields []action.Field
			for range tc.fields {
				fields = append(fields, action.Field{Path: "/a", HasAfter: true})
			}
			rec := &v1alpha1.WriteRecord{}
			if err := addToRecord(rec, fields, []action.Field{tc.more}, secrets); err != nil {
				t.Fatal(err)
			}
			if added := len(rec.Fields) == tc.fields+1; added != tc.added || added != (rec.Surplus == "") {
				t.Errorf("%d fields, and the surplus %q", len(rec.Fields), rec.Surplus)
			}
		})
	}
}

// A fix of a Secret is refused where its record would tell a value.
func TestNoRecordTellsASecret(t *testing.T) {
	const value = "aHVudGVyMmh1bnRlcjI="
	secret := fixtest.Holding(map[string]any{"password": value}, "Secret")
	cases := map[string]struct {
		write *Write
		want  bool
	}{
		"a label": {&Write{Fields: []action.Field{{Path: "/metadata/labels/a", After: "b"}}},
			false},
		"a key of its data": {&Write{Fields: []action.Field{{Path: "/data/user", After: "b"}}}, true},
		"a value elsewhere": {&Write{Fields: []action.Field{{Path: "/metadata/labels/a", Before: value}}},
			true},
		"an operation on its data": {
			&Write{Step: action.Step{Ops: []policy.PatchOp{{Op: "remove", Path: "/data/user"}}}}, true},
		"an operation from its data": {
			&Write{Step: action.Step{
				Ops: []policy.PatchOp{{Op: "copy", Path: "/metadata/labels/a", From: "/data/user"}}}}, true},
		"an object that carries it": {
			&Write{Step: action.Step{Object: map[string]any{"data": map[string]any{"a": value}}}}, true},
		"an operation with its value": {
			&Write{Step: action.Step{Ops: []policy.PatchOp{{Op: "add", Path: "/metadata/labels/a", Value: value}}}},
			true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.Object, d.Writes = secret, []*Write{tc.write}
			rec := KeepSecrets(t.Context(), d.Attempt)
			if (rec != nil) != tc.want || rec != nil && rec.Reason != v1alpha1.ReasonSensitive {
				t.Errorf("got %+v", rec)
			}
			d.Object = fixtest.Holding(nil, "ConfigMap")
			if rec := KeepSecrets(t.Context(), d.Attempt); rec != nil {
				t.Errorf("of a ConfigMap: %+v", rec)
			}
		})
	}
}

// What the server would store is judged like the fix itself.
func TestWhatTheServerWouldStoreStaysInReach(t *testing.T) {
	owner := map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "x"}
	powerful := fixtest.Widget(nil)
	if err := setNestedSlice(powerful.Object, owner); err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		write *Write
		want  bool
	}{
		"a label": {
			&Write{Step: action.Step{Type: v1alpha1.ActionPatch}, Stored: fixtest.Widget(map[string]any{"a": "b"})},
			false},
		"a field of power":      {&Write{Step: action.Step{Type: v1alpha1.ActionPatch}, Stored: powerful}, true},
		"no patch":              {&Write{Step: action.Step{Type: v1alpha1.ActionCreate}, Stored: powerful}, false},
		"nothing that it tells": {&Write{Step: action.Step{Type: v1alpha1.ActionPatch}}, false},
	}
	for name, tc := range cases {
		d := newDesk(t)
		d.Object, d.Writes = fixtest.Widget(nil), []*Write{tc.write}
		if rec := StaysInReach(t.Context(), d.Attempt); (rec != nil) != tc.want ||
			rec != nil && rec.Reason != v1alpha1.ReasonNotAllowed {
			t.Errorf("%s: %+v", name, rec)
		}
	}
}

// The permissions that only the fix itself tells are those to what it makes and to a status.
func TestThePermissionsThatAFixAsksFor(t *testing.T) {
	d := newDesk(t)
	d.Object = d.read()
	d.Steps = []action.Step{{Type: v1alpha1.ActionCreate, Object: note(nil).Object},
		{Type: v1alpha1.ActionPatch}, {Type: v1alpha1.ActionPatch, Subresource: policy.StatusSubresource}}
	kind := schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	want := []permissions.Need{{Kind: kind, Verbs: []string{"get", "create", "delete"}, Namespace: "shop"},
		{Kind: kind, Subresource: "status", Verbs: []string{"patch"}, Namespace: "shop"}}
	got := d.PermissionNeeds()
	if len(got) != len(want) || got[0].Kind != want[0].Kind || strings.Join(got[0].Verbs, " ") != "get create delete" ||
		got[1].Subresource != "status" || strings.Join(got[1].Verbs, " ") != "patch" || got[1].Namespace != "shop" {
		t.Errorf("got %+v, want %+v", got, want)
	}
	missing := d.missingPermission(permissions.Need{Kind: schema.GroupVersionKind{Kind: "Widget"}}, unavailable())
	if missing.Reason != v1alpha1.ReasonRetrying {
		t.Errorf("for a kind that nobody knows: %+v", missing)
	}
}

// Right before the write the target is read once more, and guards what is sent.
func TestTheTargetIsReadAgainBeforeTheWrite(t *testing.T) {
	cases := map[string]struct {
		change func(*desk)
		want   v1alpha1.TargetState
		why    string
		kept   bool
	}{
		"nothing has changed": {change: func(*desk) {}},
		"it was edited": {change: func(d *desk) {
			d.change(func(web *corev1.ConfigMap) { web.Data["x"] = "y" })
		}, want: v1alpha1.TargetPending, why: v1alpha1.ReasonRetrying, kept: true},
		"it has opted out": {change: func(d *desk) {
			d.change(func(web *corev1.ConfigMap) {
				web.Annotations = map[string]string{v1alpha1.AnnotationRemediation: v1alpha1.RemediationPaused}
			})
		}, want: v1alpha1.TargetSkipped, why: v1alpha1.ReasonOptOut},
		"it can't be read": {change: func(d *desk) { d.unreadable("web", unavailable()) }, want: v1alpha1.TargetPending,
			why: v1alpha1.ReasonRetrying, kept: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			w, _ := d.recorded(0)
			d.Previous.Write = &w.Record
			computed := d.Object
			tc.change(d)
			rec := d.SameAsComputed(t.Context())
			if rec == nil {
				rec = &v1alpha1.TargetRecord{}
				if w.Base == computed || w.Base.GetUID() != "u1" {
					t.Error("what was read last doesn't guard the write")
				}
			}
			if rec.State != tc.want || rec.Reason != tc.why || (rec.Write != nil) != tc.kept {
				t.Errorf("%s (%s), record kept: %t: %s", rec.State, rec.Reason, rec.Write != nil, rec.Message)
			}
		})
	}
	d := newDesk(t)
	if rec := d.HeldBack("a pause"); rec.State != v1alpha1.TargetPending || rec.Attempts != 0 ||
		!rec.NextAttemptTime.After(fixtest.Now) || !strings.Contains(rec.Message, "a pause") {
		t.Errorf("held back it is %+v", rec)
	}
}

func manifestOfSize(n int) *Write {
	w := &Write{}
	w.Record.Manifest = &apiextensionsv1.JSON{Raw: []byte(strings.Repeat("x", n))}
	return w
}

func setNestedSlice(object map[string]any, owner map[string]any) error {
	return unstructured.SetNestedSlice(object, []any{owner}, "metadata", "ownerReferences")
}
