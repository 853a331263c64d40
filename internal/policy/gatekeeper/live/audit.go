// SPDX-License-Identifier: Apache-2.0

package live

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"evenkeel.dev/evenkeel/internal/prose"
)

// ObjectKey names a live object; Namespace is empty for a cluster-scoped one.
type ObjectKey struct {
	Group     string `json:"group,omitempty"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// String is as people name it: "Service shop/web".
func (k ObjectKey) String() string {
	if k.Namespace == "" {
		return k.Kind + " " + k.Name
	}
	return k.Kind + " " + k.Namespace + "/" + k.Name
}

// KeyOf names an object that is given as JSON values.
func KeyOf(object map[string]any) ObjectKey {
	u := unstructured.Unstructured{Object: object}
	return ObjectKey{Group: u.GroupVersionKind().Group, Kind: u.GetKind(), Namespace: u.GetNamespace(),
		Name: u.GetName()}
}

// Finding is a violation of one object.
type Finding struct {
	ObjectKey
	Message string `json:"message"`
}

// String is for people.
func (f Finding) String() string { return f.ObjectKey.String() + ": " + f.Message }

// Audit is what Gatekeeper's audit has last found of a constraint.
type Audit struct {
	// Unknown says why its result doesn't count; empty while it does.
	Unknown string
	// Time is when the audit began.
	Time time.Time
	// Total counts all violations; Findings may be fewer (--constraint-violations-limit).
	Total    int
	Findings []Finding
}

// Cut says that there are violations that the list leaves out.
func (a *Audit) Cut() bool { return a.Total > len(a.Findings) }

// AuditOf reads the audit's result from the status of a constraint. It is unknown where there is none yet, or where
// the constraint or its template was changed since: since is when the template was.
func AuditOf(c *Constraint, since time.Time) Audit {
	status, _, _ := unstructured.NestedMap(c.Object.Object, "status")
	stamp, _ := status["auditTimestamp"].(string)
	at, err := time.Parse(time.RFC3339, stamp)
	if err != nil {
		return Audit{Unknown: "Gatekeeper's audit hasn't evaluated it yet"}
	}
	last := changed(c.Object)
	if since.After(last) {
		last = since
	}
	if !at.After(last) {
		return Audit{Time: at, Unknown: fmt.Sprintf("Gatekeeper's audit of %s is older than the last change of the "+
			"constraint or its template (%s): wait for the next one", stamp, last.UTC().Format(time.RFC3339))}
	}
	a := Audit{Time: at}
	total, _, _ := unstructured.NestedInt64(status, "totalViolations")
	a.Total = int(total)
	listed, _, _ := unstructured.NestedSlice(status, "violations")
	for _, v := range listed {
		violation, _ := v.(map[string]any)
		text := func(field string) string {
			s, _ := violation[field].(string)
			return s
		}
		a.Findings = append(a.Findings, Finding{Message: text("message"), ObjectKey: ObjectKey{Group: text("group"),
			Kind: text("kind"), Namespace: text("namespace"), Name: text("name")}})
	}
	if a.Total > 0 && len(a.Findings) == 0 {
		a.Unknown = fmt.Sprintf("Gatekeeper's audit counts %s and lists none, as where a write of its status has met "+
			"another one: wait for the next one; it lists none ever with --constraint-violations-limit=0",
			prose.Count(a.Total, "violation"))
	}
	return a
}

// The audit keeps that many bytes of a message, of which the last stand for the rest.
const (
	auditMessage = 256
	ellipsis     = "..."
)

// audited is a message as the audit keeps it, so that two of one beginning are equal. What it leaves of a character
// that it has cut is left out.
func audited(message string) string {
	if len(message) > auditMessage {
		message = message[:auditMessage-len(ellipsis)] + ellipsis
	}
	kept, cut := strings.CutSuffix(message, ellipsis)
	if !cut {
		return message
	}
	for kept != "" {
		r, size := utf8.DecodeLastRuneInString(kept)
		if r != utf8.RuneError {
			break
		}
		kept = kept[:len(kept)-size]
	}
	return kept + ellipsis
}
