// SPDX-License-Identifier: Apache-2.0

package stamp

import (
	"reflect"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/webhook/names"
)

// Field is one field that holds who did something. Admission fills it in from the
// request, so that nobody can speak in another's name.
type Field struct {
	// Webhook is the name of the entry in the configuration.
	Webhook string
	// Resource is what the field is in; a plural name of Evenkeel's own group.
	Resource   string
	Operations []admissionregistrationv1.OperationType
	// Condition narrows what the API server asks about, in CEL; empty for all.
	Condition string
	// act is the part of the object that the user answers for: whoever makes it,
	// or changes it, is the one. Any other request keeps who it was.
	act []string
	// field takes the user's name.
	field []string
	// past is a field beside it that keeps who has done it before; nil for none.
	past []string
	// requests says that field holds who asked for what: see Record.
	requests bool
	// Failure is what becomes of a write while nobody answers; empty for Fail.
	Failure admissionregistrationv1.FailurePolicyType
}

// All are all fields that hold who did something. A further one is a row here.
func All() []Field {
	return []Field{
		authorship(names.WebhookAuthor, "clusterregopolicies"),
		authorship(names.WebhookTemplateAuthor, "regotemplates"),
		authorship(names.WebhookStrategyAuthor, "remediationstrategies"),
		// The kill switch must work while nobody answers. Then it holds no name.
		requesting(names.WebhookForceOpen, "remediationbreakers", admissionregistrationv1.Ignore,
			asksOfBreaker()+" && "+onlyForcesOpen()),
		requesting(names.WebhookBreakerRequests, "remediationbreakers", admissionregistrationv1.Fail,
			AsksOfBreakerByName()),
		// The manager's own writes are of the same object.
		requesting(names.WebhookPlanRequests, "remediations", admissionregistrationv1.Fail,
			asksOf("desiredState", "pausedUntilTime", "retryToken", "windows", "approval")),
		requesting(names.WebhookOverrideRequests, "policyoverrides", admissionregistrationv1.Fail, ""),
	}
}

// requesting is the stamp of what people ask of an object.
func requesting(webhook, resource string, failure admissionregistrationv1.FailurePolicyType, condition string) Field {
	return Field{Webhook: webhook, Resource: resource, Operations: writes(), Failure: failure, Condition: condition,
		act: []string{"spec"}, field: []string{"metadata", "annotations", v1alpha1.AnnotationRequests}, requests: true}
}

// authorship is the stamp of what rules the cluster: who last changed its spec, and
// everybody who ever has.
func authorship(webhook, resource string) Field {
	return Field{Webhook: webhook, Resource: resource, Operations: writes(), act: []string{"spec"},
		field: []string{"metadata", "annotations", v1alpha1.AnnotationAuthor},
		past:  []string{"metadata", "annotations", v1alpha1.AnnotationAuthors}}
}

func writes() []admissionregistrationv1.OperationType {
	return []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update}
}

func stampOf(resource string) (Field, bool) {
	for _, s := range All() {
		if s.Resource == resource {
			return s, true
		}
	}
	return Field{}, false
}

// operation is one step of a JSON Patch (RFC 6902).
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

// patch is what makes the fields say what they should; empty when they do already.
func (s Field) patch(r *policy.Request) []operation {
	if _, there := dig(r.Object, s.act); !there {
		return nil
	}
	if s.requests {
		return s.recording(r)
	}
	want, set := s.user(r)
	made := map[string]bool{}
	patch := setField(r.Object, s.field, want, set, made)
	if s.past != nil {
		want, set = s.everybody(r)
		patch = append(patch, setField(r.Object, s.past, want, set, made)...)
	}
	return patch
}

// setField is what makes a field of an object hold a value, or none. made are the parents
// that the patch makes before it.
func setField(object map[string]any, field []string, want any, set bool, made map[string]bool) []operation {
	have, is := dig(object, field)
	switch {
	case set == is && want == have:
		return nil
	case !set:
		return []operation{{Op: "remove", Path: pointer(field)}}
	}
	for i := 1; i < len(field); i++ {
		parent := pointer(field[:i])
		if _, there := dig(object, field[:i]); !there && !made[parent] {
			made[parent] = true
			return []operation{{Op: "add", Path: parent, Value: nested(field[i:], want)}}
		}
	}
	return []operation{{Op: "add", Path: pointer(field), Value: want}}
}

func (s Field) recording(r *policy.Request) []operation {
	change, needed := Record(r)
	if !needed {
		return nil
	}
	ops := setField(r.Object, s.field, change.Requests, change.Requests != "", map[string]bool{})
	if change.Leftover != "" {
		ops = append(ops, operation{Op: "remove", Path: "/spec/" + change.Leftover})
	}
	return ops
}

// user is what the field is to hold: who makes the request if it is the act, and
// what stood there before if it isn't.
func (s Field) user(r *policy.Request) (value any, set bool) {
	if !s.acts(r) {
		return dig(r.OldObject, s.field)
	}
	return r.UserInfo.Username, true
}

// acts says whether the request is the act: it makes the part, or changes it.
func (s Field) acts(r *policy.Request) bool {
	act, _ := dig(r.Object, s.act)
	before, there := dig(r.OldObject, s.act)
	return r.Operation == policy.Create || !there || !reflect.DeepEqual(act, before)
}

// dig finds what lies at a path of an object. An explicit null is nothing.
func dig(object map[string]any, path []string) (any, bool) {
	var at any = object
	for _, field := range path {
		fields, _ := at.(map[string]any)
		at = fields[field]
	}
	return at, at != nil
}

func nested(path []string, value any) any {
	for i := len(path) - 1; i >= 0; i-- {
		value = map[string]any{path[i]: value}
	}
	return value
}

// pointer is the JSON Pointer (RFC 6901) of a path.
func pointer(path []string) string {
	var b strings.Builder
	for _, field := range path {
		b.WriteString("/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(field))
	}
	return b.String()
}
