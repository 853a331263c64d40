// SPDX-License-Identifier: Apache-2.0

package limitflags

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/kube"
)

// Tools are the flags that say by what else than their documented marks the
// tools of a cluster know the objects that they manage.
type Tools struct {
	instanceLabels []string
	fieldManagers  []string
}

// AddFlags adds the flags with their defaults.
func (o *Tools) AddFlags(f *pflag.FlagSet) {
	f.StringSliceVar(&o.instanceLabels, "argocd-instance-labels", nil, "keys of labels by which Argo CD tracks its "+
		"objects (application.instanceLabelKey), besides argocd.argoproj.io/instance: whatever has one is left to "+
		"Argo CD")
	f.StringSliceVar(&o.fieldManagers, "managing-field-managers", nil, "field managers that write back what others "+
		"change, besides those of the tools that are known: what they wrote is left to them")
}

// Validate says what is wrong with the flags, all at once.
func (o *Tools) Validate() error {
	var errs []error
	for _, key := range o.instanceLabels {
		for _, problem := range validation.IsQualifiedName(key) {
			errs = append(errs, fmt.Errorf("--argocd-instance-labels %q isn't the key of a label: %s", key, problem))
		}
	}
	for _, own := range []string{v1alpha1.FieldManager, v1alpha1.RollbackFieldManager, ""} {
		if slices.Contains(o.fieldManagers, own) {
			errs = append(errs, fmt.Errorf("--managing-field-managers can't have %q: it is Evenkeel's own, or nobody's",
				own))
		}
	}
	return errors.Join(errs...)
}

// Value is what the flags say.
func (o *Tools) Value() kube.Tools {
	return kube.Tools{InstanceLabels: o.instanceLabels, FieldManagers: o.fieldManagers}
}
