// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"strings"
	"time"
)

// NewAudit asks for a verdict on an object that exists, as if it were created
// now. Admission's exemptions of users don't apply. namespace is the Namespace
// that the object lives in; nil for a cluster-scoped object.
func NewAudit(object, namespace map[string]any, now time.Time) *Request {
	meta := Metadata(object)
	r := &Request{Operation: Create, Object: object, NamespaceObject: namespace, Audit: true, Now: now}
	r.Kind = kindOf(object)
	r.Name, _ = meta["name"].(string)
	r.Namespace, _ = meta["namespace"].(string)
	return r
}

func kindOf(object map[string]any) GroupVersionKind {
	apiVersion, _ := object["apiVersion"].(string)
	kind, _ := object["kind"].(string)
	group, version, found := strings.Cut(apiVersion, "/")
	if !found {
		group, version = "", apiVersion
	}
	return GroupVersionKind{Group: group, Version: version, Kind: kind}
}
