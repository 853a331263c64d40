// SPDX-License-Identifier: Apache-2.0

package limitflags

import (
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"evenkeel.dev/evenkeel/internal/limits"
)

// Reach are the flags that say what fixes may write, whatever a policy asks for.
type Reach struct {
	namespaces []string
	kinds      []string
	fields     []string
}

// AddFlags adds the flags with their defaults.
func (o *Reach) AddFlags(f *pflag.FlagSet) {
	f.StringSliceVar(&o.namespaces, "remediation-allow-namespaces", nil,
		"namespaces of --exempt-namespaces, or --namespace, in which fixes may write all the same (default: none)")
	f.StringSliceVar(&o.kinds, "remediation-allow-kinds", nil, "protected kinds that fixes may write all the same, as "+
		"Kind.group, for example Namespace or ClusterRole.rbac.authorization.k8s.io (default: none)")
	f.StringSliceVar(&o.fields, "remediation-allow-fields", nil, "classes of security-relevant fields that fixes may "+
		"set: all, image, command, environment, volumes, service-account, security-context, host, scheduling, "+
		"network, metadata, ownership, other (default: none)")
}

// Value is what the flags mean. exempt are the namespaces in which nothing is written
// otherwise.
func (o *Reach) Value(exempt ...string) limits.Reach {
	r := limits.Reach{Exempt: exempt, Namespaces: o.namespaces}
	for _, kind := range o.kinds {
		r.Kinds = append(r.Kinds, schema.ParseGroupKind(kind))
	}
	for _, class := range o.fields {
		r.Fields = append(r.Fields, limits.Class(class))
	}
	return r
}

// Validate says what is wrong with the flags, all at once.
func (o *Reach) Validate() error {
	r := o.Value()
	return r.Validate()
}
