package main

import (
	"slices"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"evenkeel.dev/evenkeel/internal/limits"
)

// reachOptions are the flags that say what fixes may write, whatever a policy asks for.
type reachOptions struct {
	namespaces []string
	kinds      []string
	fields     []string
}

// AddFlags adds the flags with their defaults.
func (o *reachOptions) AddFlags(f *pflag.FlagSet) {
	f.StringSliceVar(&o.namespaces, "remediation-allow-namespaces", nil, "namespaces of --exempt-namespaces, or --namespace, in which fixes may write all the same (default: none)")
	f.StringSliceVar(&o.kinds, "remediation-allow-kinds", nil, "protected kinds that fixes may write all the same, as Kind.group, for example Namespace or ClusterRole.rbac.authorization.k8s.io (default: none)")
	f.StringSliceVar(&o.fields, "remediation-allow-fields", nil, "classes of security-relevant fields that fixes may set: all, image, command, environment, volumes, service-account, security-context, host, scheduling, network, metadata, ownership, other (default: none)")
}

// reach is what the flags mean. exempt are the namespaces in which nothing is written
// otherwise.
func (o *reachOptions) reach(exempt ...string) limits.Reach {
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
func (o *reachOptions) Validate() error {
	r := o.reach()
	return r.Validate()
}

// reach is what fixes may write, by all flags of the manager.
func (o *managerOptions) reach() limits.Reach {
	return o.fixes.reach(append(slices.Clone(o.exemptNamespaces), o.namespace)...)
}
