// SPDX-License-Identifier: Apache-2.0

package condition

import (
	"fmt"

	"github.com/google/cel-go/cel"
	"k8s.io/apimachinery/pkg/util/version"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"

	"evenkeel.dev/evenkeel/internal/policy"
)

// The variables of an expression.
const (
	varObject    = "object"
	varOldObject = "oldObject"
	varRequest   = "request"
)

// newEnvironment is Kubernetes' own, with its libraries and cost limits, and the variables
// of a match condition. What isn't known of every request isn't declared, so that an
// expression that asks for it is refused when the policy is written.
func newEnvironment() (*cel.Env, error) {
	request := requestType()
	set, err := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()).Extend(
		environment.VersionedOptions{
			IntroducedVersion: version.MajorMinor(1, 0),
			EnvOptions: []cel.EnvOption{
				cel.Variable(varObject, cel.DynType),
				cel.Variable(varOldObject, cel.DynType),
				cel.Variable(varRequest, request.CelType()),
			},
			DeclTypes: []*apiservercel.DeclType{request},
		}, environment.StrictCostOpt)
	if err != nil {
		return nil, fmt.Errorf("prepare the CEL environment: %w", err)
	}
	return set.StoredExpressionsEnv(), nil
}

// requestType names the fields as admission.k8s.io/v1 does.
func requestType() *apiservercel.DeclType {
	object := func(name string, fields map[string]*apiservercel.DeclType) *apiservercel.DeclType {
		declared := make(map[string]*apiservercel.DeclField, len(fields))
		for field, of := range fields {
			declared[field] = apiservercel.NewDeclField(field, of, false, nil, nil)
		}
		return apiservercel.NewObjectType(name, declared)
	}
	text := apiservercel.StringType
	return object("kubernetes.AdmissionRequest", map[string]*apiservercel.DeclType{
		"operation": text,
		"kind": object("kubernetes.GroupVersionKind",
			map[string]*apiservercel.DeclType{"group": text, "version": text, "kind": text}),
		"resource": object("kubernetes.GroupVersionResource",
			map[string]*apiservercel.DeclType{"group": text, "resource": text}),
		"subResource": text,
		"namespace":   text,
		"name":        text,
		"userInfo": object("kubernetes.UserInfo", map[string]*apiservercel.DeclType{
			"username": text, "uid": text, "groups": apiservercel.NewListType(text, -1),
		}),
		"dryRun": apiservercel.BoolType,
	})
}

// variables are the request as an expression sees it. As in Kubernetes, what is empty and may be isn't there.
func variables(r *policy.Request) map[string]any {
	group := r.Kind.Group
	if s, ok := policy.SubresourceOf(r); ok {
		group = s.Parent.Group
	}
	user := map[string]any{"username": r.UserInfo.Username, "groups": r.UserInfo.Groups}
	request := map[string]any{
		"operation": string(r.Operation),
		"kind":      map[string]any{"group": r.Kind.Group, "version": r.Kind.Version, "kind": r.Kind.Kind},
		"resource":  map[string]any{"group": group, "resource": r.Resource},
		"userInfo":  user,
		"dryRun":    r.DryRun,
	}
	unlessEmpty(user, "uid", r.UserInfo.UID)
	unlessEmpty(request, "subResource", r.SubResource)
	unlessEmpty(request, "namespace", r.Namespace)
	unlessEmpty(request, "name", r.Name)
	return map[string]any{varObject: orNull(r.Object), varOldObject: orNull(r.OldObject), varRequest: request}
}

func unlessEmpty(fields map[string]any, name, value string) {
	if value != "" {
		fields[name] = value
	}
}

// orNull keeps an object that isn't there from being an empty one.
func orNull(object map[string]any) any {
	if object == nil {
		return nil
	}
	return object
}
