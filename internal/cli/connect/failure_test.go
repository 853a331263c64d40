// SPDX-License-Identifier: Apache-2.0

package connect

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

func TestAClusterWithoutEvenkeelIsToldApart(t *testing.T) {
	group := v1alpha1.GroupVersion
	cases := map[string]struct {
		err  error
		want bool
	}{
		"discovery doesn't find the group": {
			&apiutil.ErrResourceDiscoveryFailed{
				group: &meta.NoResourceMatchError{PartialResource: group.WithResource("")}}, true},
		"the group lacks the kind": {
			&meta.NoKindMatchError{GroupKind: group.WithKind("ClusterRegoPolicy").GroupKind()}, true},
		"an object isn't there": {
			apierrors.NewNotFound(group.WithResource("clusterregopolicies").GroupResource(), "a"), false},
		"nobody answers": {errors.New("connection refused"), false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			err := Failure("list policies", fmt.Errorf("connect: %w", tc.err))
			if got := strings.Contains(err.Error(), "kubectl apply -k config/crd"); got != tc.want {
				t.Errorf("it says to install the kinds: %t, want %t: %v", got, tc.want, err)
			}
		})
	}
}

func TestAWebhookThatDoesNotAnswerIsToldApart(t *testing.T) {
	const unreached = `failed calling webhook %q: failed to call webhook: Post "https://localhost:9443/mutate/stamp?timeout=5s": connect: connection refused`
	cases := map[string]struct {
		err  error
		want bool
	}{
		"Evenkeel's own":  {apierrors.NewInternalError(fmt.Errorf(unreached, "undo.evenkeel.dev")), true},
		"somebody else's": {apierrors.NewInternalError(fmt.Errorf(unreached, "check.example.com")), false},
		"a refusal by it": {apierrors.NewForbidden(v1alpha1.GroupVersion.WithResource("remediations").GroupResource(),
			"a", errors.New(`admission webhook "undo.evenkeel.dev" denied the request`)), false},
		"nobody else does": {errors.New("connection refused"), false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			err := Failure("change remediation a", tc.err)
			if got := strings.Contains(err.Error(), "evenkeel doctor"); got != tc.want {
				t.Errorf("it leads to the doctor: %t, want %t: %v", got, tc.want, err)
			}
		})
	}
}

func TestWhatPeopleMayNotDoIsToldWithWhoMay(t *testing.T) {
	cases := map[string]struct {
		err        error
		want, lack string
	}{
		"a permission is missing": {apierrors.NewForbidden(v1alpha1.GroupVersion.WithResource("remediations").
			GroupResource(), "", errors.New(`User "dev" cannot list resource "remediations" in API group `+
			`"evenkeel.dev" at the cluster scope`)), "ask for that permission: ClusterRole evenkeel-viewer grants it", ""},
		"admission refuses, and says itself what it takes": {apierrors.NewForbidden(v1alpha1.GroupVersion.WithResource(
			"remediations").GroupResource(), "a", errors.New(`ValidatingAdmissionPolicy 'evenkeel-plans' denied `+
			`request: user dana may not undo (role evenkeel-operator)`)), "role evenkeel-operator",
			"ask for that permission"},
		"the credentials aren't taken": {fmt.Errorf("failed to get server groups: %w",
			apierrors.NewUnauthorized("no")), "doesn't take your credentials", "ask for that permission"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			text := Failure("list remediations", tc.err).Error()
			if !strings.Contains(text, tc.want) || tc.lack != "" && strings.Contains(text, tc.lack) {
				t.Errorf("it says %q, want %q and not %q", text, tc.want, tc.lack)
			}
		})
	}
}
