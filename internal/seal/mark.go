// SPDX-License-Identifier: Apache-2.0

package seal

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// ErrUnproven says that a plan or a record isn't known to be the manager's.
var ErrUnproven = errors.New("not proven to be the manager's own")

// Key makes and checks seals.
type Key []byte

// ID names a key without telling it.
func (k Key) ID() string {
	sum := sha256.Sum256(append([]byte("evenkeel.dev/record-key:"), k...))
	return hex.EncodeToString(sum[:4])
}

// sealed are the parts of an object under a seal each.
type sealed struct {
	kind, name string
	// uid is the UID of the plan that the object is, or is a part of: a slice that is
	// brought back under its plan proves what it did.
	uid string
	// plan never changes; status is nil while nothing has been recorded.
	plan, status any
	// planSeal and statusSeal are what the object carries.
	planSeal, statusSeal string
}

// sealedTargets are what never changes of a slice.
type sealedTargets struct {
	Remediation string            `json:"remediation"`
	Index       int32             `json:"index"`
	Targets     []v1alpha1.Target `json:"targets"`
}

// sealedRecords are what is recorded in a slice.
type sealedRecords struct {
	Records  []v1alpha1.TargetRecord `json:"records,omitempty"`
	Sequence int64                   `json:"sequence,omitempty"`
}

// partsOf are the sealed parts of an object; false for a kind that isn't sealed.
// What people may change isn't under a seal, nor is what only tells: conditions and the
// generation that they speak of, so that a plan that isn't proven can say so, the evidence of a
// failure, which an older schema drops, and a slice's counts.
func partsOf(obj client.Object) (sealed, bool) {
	s := sealed{name: obj.GetName(), uid: string(obj.GetUID()), planSeal: obj.GetAnnotations()[v1alpha1.AnnotationSeal]}
	switch o := obj.(type) {
	case *v1alpha1.Remediation:
		plan, status := o.Spec.DeepCopy(), o.Status.DeepCopy()
		plan.DesiredState, plan.RetryToken, plan.WindowOverride, plan.Reason, plan.Requests = "", "", "", "", nil
		plan.PausedUntil = nil
		status.Seal, status.Conditions, status.ObservedGeneration, status.Evidence = "", nil, 0, nil
		s.kind, s.plan, s.statusSeal = "Remediation", plan, o.Status.Seal
		if !reflect.DeepEqual(*status, v1alpha1.RemediationStatus{}) {
			s.status = status
		}
	case *v1alpha1.RemediationSlice:
		s.kind, s.uid, s.statusSeal = "RemediationSlice", planOf(o), o.Seal
		s.plan = sealedTargets{o.Remediation, o.Index, o.Targets}
		if len(o.Records) > 0 || o.Sequence != 0 {
			s.status = sealedRecords{o.Records, o.Sequence}
		}
	default:
		return s, false
	}
	return s, true
}

// planOf is the UID of the plan that a slice belongs to; empty for one that has been
// adopted by none yet.
func planOf(slice *v1alpha1.RemediationSlice) string {
	owner := metav1.GetControllerOfNoCopy(slice)
	if owner == nil || owner.Kind != "Remediation" {
		return ""
	}
	return string(owner.UID)
}

// CheckOwner errs with ErrUnproven when what is recorded in a slice belongs to another
// plan, of the same name, than the one that it is read for.
func CheckOwner(slice *v1alpha1.RemediationSlice, plan *v1alpha1.Remediation) error {
	if s, _ := partsOf(slice); s.status == nil || s.uid == string(plan.UID) {
		return nil
	}
	return fmt.Errorf("RemediationSlice %s: what is recorded belongs to the plan with UID %q, and Remediation %s has "+
		"%q: it was deleted and made again, by a restore for example: %w",
		slice.Name, planOf(slice), plan.Name, plan.UID, ErrUnproven)
}

// ofPlan is the seal of what never changes, bound to the object's kind and name.
func (k Key) ofPlan(s sealed) (string, error) { return k.over("plan", s.kind, s.name, "", s.plan) }

// ofStatus is the seal of what was recorded, bound to the very plan.
func (k Key) ofStatus(s sealed) (string, error) {
	if s.uid == "" {
		return "", fmt.Errorf("%s %s: it belongs to no plan: %w", s.kind, s.name, ErrUnproven)
	}
	return k.over("status", s.kind, s.name, s.uid, s.status)
}

func (k Key) over(part, kind, name, uid string, content any) (string, error) {
	text, err := canonical(content)
	if err != nil {
		return "", err
	}
	mac := hmac.New(sha256.New, k)
	for _, field := range []string{part, kind, name, uid, string(text)} {
		fmt.Fprintf(mac, "%d:%s", len(field), field)
	}
	return k.ID() + "." + hex.EncodeToString(mac.Sum(nil)), nil
}

// verify says why an object isn't proven; nil when it is, or isn't of a sealed kind.
func (k Key) verify(obj client.Object) error {
	s, ok := partsOf(obj)
	if !ok {
		return nil
	}
	want, err := k.ofPlan(s)
	if err != nil {
		return err
	}
	if err := k.compare(s, "the plan", s.planSeal, want); err != nil {
		return err
	}
	if s.status == nil {
		return nil
	}
	if want, err = k.ofStatus(s); err != nil {
		return err
	}
	return k.compare(s, "what is recorded", s.statusSeal, want)
}

func (k Key) compare(s sealed, what, have, want string) error {
	switch {
	case hmac.Equal([]byte(have), []byte(want)):
		return nil
	case have == "":
		return fmt.Errorf("%s %s: %s carries no seal: %w", s.kind, s.name, what, ErrUnproven)
	case len(have) > 8 && have[:8] != k.ID():
		return fmt.Errorf("%s %s: %s is sealed with the key %s, and the manager's is %s: %w", s.kind, s.name, what,
			have[:8], k.ID(), ErrUnproven)
	}
	return fmt.Errorf("%s %s: %s was changed by somebody else than the manager: %w", s.kind, s.name, what, ErrUnproven)
}

// canonical is a value as JSON, the same however the API server writes it: keys in
// order, and without nulls, which it may drop.
func canonical(v any) ([]byte, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode what is sealed: %w", err)
	}
	var tree any
	if err := utiljson.Unmarshal(raw, &tree); err != nil {
		return nil, fmt.Errorf("encode what is sealed: %w", err)
	}
	return json.Marshal(withoutNulls(tree))
}

func withoutNulls(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			if value == nil {
				delete(v, key)
			} else {
				v[key] = withoutNulls(value)
			}
		}
	case []any:
		for i := range v {
			v[i] = withoutNulls(v[i])
		}
	}
	return v
}
