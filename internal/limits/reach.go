// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The flags of the manager that widen the reach of fixes.
const (
	FlagNamespaces = "--remediation-allow-namespaces"
	FlagKinds      = "--remediation-allow-kinds"
	FlagFields     = "--remediation-allow-fields"
)

// Reach is what fixes may write. The zero value is the narrowest but for
// namespaces, of which it knows none that are exempt.
type Reach struct {
	// Exempt are the namespaces in which nothing is written: those that admission
	// never judges, and the manager's own.
	Exempt []string
	// Namespaces are those of Exempt in which fixes may write all the same.
	Namespaces []string
	// Kinds are the protected kinds that fixes may write all the same.
	Kinds []schema.GroupKind
	// Fields are the classes of fields that fixes may set.
	Fields []Class
}

// Validate says which classes don't exist, and which kinds no flag opens.
func (r *Reach) Validate() error {
	var errs []error
	for _, class := range r.Fields {
		if !slices.Contains(Classes(), class) {
			errs = append(errs, fmt.Errorf("%s %q: must be of %s", FlagFields, class, names(Classes())))
		}
	}
	for _, gk := range r.Kinds {
		if gk.Group == ownGroup {
			errs = append(errs, fmt.Errorf("%s %q: no fix writes Evenkeel's own kinds", FlagKinds, gk))
		} else if _, protected := protection(gk); !protected {
			errs = append(errs, fmt.Errorf("%s %q: fixes may write it anyway, where RBAC lets the manager; write "+
				"Kind.group, as in ServiceAccount or ClusterRole.rbac.authorization.k8s.io", FlagKinds, gk))
		}
	}
	return errors.Join(errs...)
}

// Object says why no fix may write an object at all; empty when one may.
func (r *Reach) Object(gk schema.GroupKind, namespace string) string {
	return r.Target(gk, namespace, "", false)
}

// Target says why nothing may be done about an object that violates a policy; empty when something may. A fix that
// only creates others writes nothing of the object itself, whose kind may be protected then; for a Namespace it
// creates in it. The name may be empty where no object is meant.
func (r *Reach) Target(gk schema.GroupKind, namespace, name string, onlyCreates bool) string {
	if onlyCreates && gk.Group == "" && gk.Kind == "Namespace" {
		namespace = name
	}
	if namespace != "" && slices.Contains(r.Exempt, namespace) && !slices.Contains(r.Namespaces, namespace) {
		return fmt.Sprintf("nothing is written in namespace %s, which keeps the cluster or the manager alive, unless "+
			"the manager's flag %s names it", namespace, FlagNamespaces)
	}
	if onlyCreates && gk.Group != ownGroup {
		return ""
	}
	return r.Kind(gk)
}

// Kind says why no fix may write objects of a kind; empty when one may.
func (r *Reach) Kind(gk schema.GroupKind) string {
	why, unless := r.Bars(gk)
	if unless != "" {
		why += ", " + unless
	}
	return why
}

// Bars is Kind in two parts: why, and what would let fixes write the kind, empty where nothing would.
func (r *Reach) Bars(gk schema.GroupKind) (why, unless string) {
	because, protected := protection(gk)
	switch {
	case !protected:
		return "", ""
	case gk.Group == ownGroup:
		return "no fix writes Evenkeel's own kinds", ""
	case slices.Contains(r.Kinds, gk):
		return "", ""
	}
	return fmt.Sprintf("no fix writes a %s (%s)", gk.Kind, because),
		fmt.Sprintf("unless the manager runs with %s=%s", FlagKinds, gk)
}

// Update says why a fix may not change an object so; empty when it may. The status
// counts too.
func (r *Reach) Update(before, after map[string]any) string {
	return r.refuse(updated(before, after))
}

// Create says why a fix may not make an object; empty when it may.
func (r *Reach) Create(object map[string]any) string {
	gk, namespace := identify(object)
	if why := r.Object(gk, namespace); why != "" {
		return why
	}
	return r.refuse(created(object))
}

// Remove says why a fix may not delete or evict an object; empty when it may.
func (r *Reach) Remove(object map[string]any) string {
	return r.refuse(removed(object))
}

// refuse tells the first change of a class that isn't allowed.
func (r *Reach) refuse(changes []change) string {
	for _, c := range changes {
		if !slices.Contains(r.Fields, c.class) && !slices.Contains(r.Fields, ClassAll) {
			return fmt.Sprintf("the fix would set %s (%s), which no fix may, unless the manager runs with %s=%s",
				c.path, meaning(c.class), FlagFields, c.class)
		}
	}
	return ""
}

func identify(object map[string]any) (schema.GroupKind, string) {
	apiVersion, _ := object["apiVersion"].(string)
	kind, _ := object["kind"].(string)
	metadata, _ := object["metadata"].(map[string]any)
	namespace, _ := metadata["namespace"].(string)
	return schema.FromAPIVersionAndKind(apiVersion, kind).GroupKind(), namespace
}

func names(classes []Class) string {
	out := make([]string, 0, len(classes))
	for _, c := range classes {
		out = append(out, string(c))
	}
	return strings.Join(out, ", ")
}
