// SPDX-License-Identifier: Apache-2.0

package remediate

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// simAPI is the API server of the simulated cluster, as far as the executor asks it:
// it reads, patches, and stores slices. All else is a nil client, which panics.
type simAPI struct {
	client.Client
	sim *simulation
}

// Get answers from what is stored now.
func (a *simAPI) Get(_ context.Context, key client.ObjectKey, out client.Object, _ ...client.GetOption) error {
	s := a.sim
	if err := s.alive(); err != nil {
		return err
	}
	live, ok := out.(*unstructured.Unstructured)
	if !ok {
		return fmt.Errorf("the simulation holds no %T %s", out, key.Name)
	}
	if live.GetKind() == "Namespace" {
		live.SetName(key.Name)
		if _, home, _ := strings.Cut(key.Name, "."); s.objects[s.places[home]].optedOut(s) {
			live.SetAnnotations(map[string]string{v1alpha1.AnnotationRemediation: v1alpha1.RemediationPaused})
		}
		return nil
	}
	i, obj := s.named(key.Name)
	if err := s.readable(obj); err != nil {
		return err
	}
	if s.intends.undoes(i) && obj.Edited && obj.value == valueAfter {
		obj.set(valueTheirs)
	}
	live.Object = obj.seen(s).Object
	return nil
}

// readable is what keeps an object from being read.
func (s *simulation) readable(obj *simObject) error {
	switch {
	case !s.serves(obj):
		return &meta.NoKindMatchError{GroupKind: schema.GroupKind{Group: "apps", Kind: obj.ref.Kind},
			SearchedVersions: []string{"v1"}}
	case s.intends.prepares() && take(&obj.PreErrors):
		return apierrors.NewServiceUnavailable("try again")
	case !obj.exists(s.clock.Now()):
		return apierrors.NewNotFound(obj.resource(), obj.ref.Name)
	}
	return nil
}

func (o *simObject) resource() schema.GroupResource {
	return schema.GroupResource{Group: "apps", Resource: o.ref.Kind}
}

// named is the object of a name, with its place in the plan.
func (s *simulation) named(name string) (int, *simObject) {
	i := s.places[name]
	return i, s.objects[i]
}

// Patch answers a dry run, a write of the fix, or its undoing.
func (a *simAPI) Patch(_ context.Context, out client.Object, patch client.Patch, opts ...client.PatchOption) error {
	s, options := a.sim, (&client.PatchOptions{}).ApplyOptions(opts)
	if err := s.alive(); err != nil {
		return err
	}
	live, ok := out.(*unstructured.Unstructured)
	if !ok {
		return fmt.Errorf("the simulation patches no %T", out)
	}
	raw, err := patch.Data(out)
	if err != nil {
		return err
	}
	i, obj := s.named(out.GetName())
	if err := s.readable(obj); err != nil {
		return err
	}
	var stored *unstructured.Unstructured
	switch {
	case len(options.DryRun) > 0:
		stored, err = s.tried(obj, raw)
	case options.FieldManager == v1alpha1.RollbackFieldManager:
		stored, err = s.undone(i, obj, raw)
	default:
		stored, err = s.written(i, obj, raw)
	}
	if err == nil {
		live.Object = stored.Object
	}
	return err
}

// patched is what a patch makes of the object as it is; the guards in it are tests that
// fail as the API server's do.
func (s *simulation) patched(obj *simObject, raw []byte) (*unstructured.Unstructured, error) {
	ops, err := jsonpatch.DecodePatch(raw)
	if err != nil {
		return nil, err
	}
	doc, err := json.Marshal(obj.seen(s))
	if err != nil {
		return nil, err
	}
	if doc, err = ops.Apply(doc); err != nil {
		return nil, apierrors.NewGenericServerResponse(422, "patch", obj.resource(), obj.ref.Name, err.Error(), 0,
			false)
	}
	out := &unstructured.Unstructured{}
	return out, out.UnmarshalJSON(doc)
}

// tried is a dry run.
func (s *simulation) tried(obj *simObject, raw []byte) (*unstructured.Unstructured, error) {
	out, err := s.patched(obj, raw)
	switch {
	case err != nil:
		return nil, err
	case obj.Refuses == v1alpha1.ReasonDryRunRefused:
		return nil, apierrors.NewInvalid(schema.GroupKind{Group: "apps", Kind: obj.ref.Kind}, obj.ref.Name, nil)
	}
	if err := obj.Neighbour.refuses(s); err != nil {
		return nil, err
	}
	if obj.Neighbour.Changes == growsAlike {
		err = unstructured.SetNestedField(out.Object, valueTheirs, "spec", "extra")
	}
	return out, err
}

// written is the write of a fix. The guards are the API server's: nothing is stored
// unless the object is still at the version that was read.
func (s *simulation) written(i int, obj *simObject, raw []byte) (*unstructured.Unstructured, error) {
	s.mustBeRecorded(i)
	if take(&obj.Conflicts) {
		obj.version++
	}
	if obj.Beaten && !obj.theirs {
		obj.set(valueAfter)
		obj.theirs, obj.untold = true, true
	}
	out, err := s.patched(obj, raw)
	switch {
	case err != nil:
		return nil, err
	case obj.Denied || obj.Neighbour.denies(s):
		return nil, neighbour{Denies: []span{{0, never}}}.refuses(s)
	}
	if value, _, _ := unstructured.NestedString(out.Object, "spec", "ours"); value != valueAfter {
		s.fault("%s is written %q", obj.ref.String(), value)
	}
	answer := obj.Answer
	obj.Answer = ""
	if obj.Neighbour.out(s) {
		answer = "lost" // nothing is stored, and nobody can tell from a 500
	}
	switch answer {
	case "lost":
	case "late":
		obj.late = &lateWrite{at: s.clock.Now().Add(obj.LateBy), version: obj.version,
			mark: out.GetAnnotations()[v1alpha1.AnnotationLastRemediation]}
	case "theirs":
		obj.set(valueTheirs)
	default:
		obj.fix(s.clock.Now(), out.GetAnnotations()[v1alpha1.AnnotationLastRemediation])
	}
	if err := s.effect(); err != nil {
		return nil, err
	}
	if answer != "" {
		return nil, apierrors.NewTimeoutError("the answer is lost", 0)
	}
	return obj.seen(s), nil
}

// undone is the undoing of a write.
func (s *simulation) undone(i int, obj *simObject, raw []byte) (*unstructured.Unstructured, error) {
	s.mustBeReadyToUndo(i)
	if take(&obj.RevertErrors) {
		return nil, apierrors.NewServiceUnavailable("try again")
	}
	out, err := s.patched(obj, raw)
	if err != nil {
		return nil, err
	}
	if err := obj.Neighbour.refuses(s); err != nil {
		return nil, err
	}
	value, _, _ := unstructured.NestedString(out.Object, "spec", "ours")
	if obj.Neighbour.Changes == bendsUndo {
		value = valueTheirs
	}
	obj.set(value)
	obj.mark = out.GetAnnotations()[v1alpha1.AnnotationLastRemediation]
	obj.extra, _, _ = unstructured.NestedString(out.Object, "spec", "extra")
	if obj.Neighbour.Changes == growsUndo {
		obj.more = valueTheirs
	}
	obj.undoes++
	obj.undoneAt = s.clock.Now()
	if err := s.effect(); err != nil {
		return nil, err
	}
	if take(&obj.UndoAnswers) {
		return nil, apierrors.NewTimeoutError("the answer is lost", 0)
	}
	return obj.seen(s), nil
}

// stored is the record of a target as it is persisted.
func (s *simulation) stored(i int) v1alpha1.TargetRecord {
	for _, name := range s.rem.Spec.Plan.Slices {
		records := s.store.slices[name].Records
		if i < len(records) {
			return records[i]
		}
		i -= len(records)
	}
	return v1alpha1.TargetRecord{}
}

// mustBeRecorded is the protocol's first rule: no write without a persisted intent.
func (s *simulation) mustBeRecorded(i int) {
	rec := s.stored(i)
	if rec.State != v1alpha1.TargetIntent || rec.Write == nil || rec.Write.UID != s.objects[i].ref.UID {
		s.fault("%s is written, but its persisted record is %s", s.objects[i].ref.String(), rec.State)
	}
}

// mustBeReadyToUndo is its second: what an undoing is to leave is persisted before it.
func (s *simulation) mustBeReadyToUndo(i int) {
	if rec := s.stored(i); rec.Write == nil || rec.Write.UndoExpected == nil {
		s.fault("%s is undone, but its persisted record, %s, doesn't say what that is to leave",
			s.objects[i].ref.String(), rec.State)
	}
}
