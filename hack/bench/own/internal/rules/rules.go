// SPDX-License-Identifier: Apache-2.0

// Package rules makes policies of ConstraintTemplates and constraints, as evenkeel migrate gatekeeper does.
package rules

import (
	"context"
	"fmt"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/manifest"
	"evenkeel.dev/evenkeel/internal/policy/gatekeeper"
)

// Read gives the templates and the policies that those of a file become. One that can't be migrated is an error.
func Read(ctx context.Context, file string) (templates []*v1alpha1.RegoTemplate,
	policies []*v1alpha1.ClusterRegoPolicy, err error) {
	documents, err := manifest.Read(ctx, []string{file}, nil, manifest.Options{})
	if err != nil {
		return nil, nil, err
	}
	items := gatekeeper.Migrate(documents, gatekeeper.Options{Owner: "platform", Severity: v1alpha1.SeverityMedium})
	for i := range items {
		if items[i].State != gatekeeper.Migrated {
			return nil, nil, fmt.Errorf("%s: %s: %v", items[i].Object, items[i].State, items[i].Notes)
		}
		if t := items[i].Template; t != nil {
			templates = append(templates, t)
		}
		if p := items[i].Policy; p != nil {
			policies = append(policies, p)
		}
	}
	return templates, policies, nil
}
