package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

const kubeconfig = `apiVersion: v1
kind: Config
clusters: [{name: prod, cluster: {server: "http://127.0.0.1:1"}}]
contexts: [{name: prod, context: {cluster: prod}}]
`

func TestAClusterThatNothingNamesIsRefused(t *testing.T) {
	dir := folder(t, map[string]string{"good": kubeconfig + "current-context: prod\n", "nocontext": kubeconfig, "broken": "{{{"})
	cases := map[string]struct {
		reason, file string
		args         []string
		want         int
		says         string
	}{
		"a KUBECONFIG that isn't there": {
			reason: "the file is what is wrong, not a port of this machine", file: "nosuch", want: exitUsage, says: filepath.Join(dir, "nosuch")},
		"a KUBECONFIG without a current context": {
			reason: "client-go would take a port of this machine", file: "nocontext", want: exitUsage, says: filepath.Join(dir, "nocontext")},
		"the same with --context": {
			reason: "then a cluster is named", file: "nocontext", args: []string{"--context=prod"}, want: exitFailure, says: "127.0.0.1:1"},
		"a KUBECONFIG that can't be read": {
			reason: "the file and its line are named", file: "broken", want: exitUsage, says: "broken"},
		"a cluster that doesn't answer": {
			reason: "it was called rightly, and couldn't do its work", file: "good", want: exitFailure, says: "127.0.0.1:1"},
		"a server that a flag names": {
			reason: "it needs no file", file: "nosuch", args: []string{"--server=http://127.0.0.1:1"}, want: exitFailure, says: "127.0.0.1:1"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Setenv("KUBECONFIG", filepath.Join(dir, tc.file))
			_, message, code := invoke(t, newRootCommand(), append([]string{"rollout", "get"}, tc.args...)...)
			if code != tc.want || !strings.Contains(message, tc.says) {
				t.Errorf("%s: code %d, %s; want %d and %q", tc.reason, code, message, tc.want, tc.says)
			}
		})
	}
}

func TestAClusterWithoutEvenkeelIsToldApart(t *testing.T) {
	group := v1alpha1.GroupVersion
	cases := map[string]struct {
		err  error
		want bool
	}{
		"discovery doesn't find the group": {&apiutil.ErrResourceDiscoveryFailed{group: &meta.NoResourceMatchError{PartialResource: group.WithResource("")}}, true},
		"the group lacks the kind":         {&meta.NoKindMatchError{GroupKind: group.WithKind("ClusterRegoPolicy").GroupKind()}, true},
		"an object isn't there":            {apierrors.NewNotFound(group.WithResource("clusterregopolicies").GroupResource(), "a"), false},
		"nobody answers":                   {errors.New("connection refused"), false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			err := failure("list policies", fmt.Errorf("connect: %w", tc.err))
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
		"Evenkeel's own":   {apierrors.NewInternalError(fmt.Errorf(unreached, "undo.evenkeel.dev")), true},
		"somebody else's":  {apierrors.NewInternalError(fmt.Errorf(unreached, "check.example.com")), false},
		"a refusal by it":  {apierrors.NewForbidden(v1alpha1.GroupVersion.WithResource("remediations").GroupResource(), "a", errors.New(`admission webhook "undo.evenkeel.dev" denied the request`)), false},
		"nobody else does": {errors.New("connection refused"), false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			err := failure("change remediation a", tc.err)
			if got := strings.Contains(err.Error(), "evenkeel doctor"); got != tc.want {
				t.Errorf("it leads to the doctor: %t, want %t: %v", got, tc.want, err)
			}
		})
	}
}

func TestWrongCallsEndWithCode2BeforeAnythingIsAsked(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "nosuch"))
	cases := map[string]struct {
		args []string
		says string
	}{
		"a shell that isn't known":  {[]string{"completion", "tcsh"}, "give one of bash, fish"},
		"a selector that isn't one": {[]string{"scan", "--selector", "!!"}, "--selector"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, message, code := invoke(t, newRootCommand(), tc.args...)
			if code != exitUsage || !strings.Contains(message, tc.says) {
				t.Errorf("code %d, %s; want %d and %q", code, message, exitUsage, tc.says)
			}
		})
	}
}

func TestNamesArePrintedOfListsToo(t *testing.T) {
	plan := func(name string) v1alpha1.Remediation {
		rem := v1alpha1.Remediation{}
		rem.Name = name
		return rem
	}
	one := plan("a")
	cases := map[string]struct {
		object runtime.Object
		want   string
	}{
		"one object":        {&one, "remediation.evenkeel.dev/a\n"},
		"a list":            {&v1alpha1.RemediationList{Items: []v1alpha1.Remediation{one, plan("b")}}, "remediation.evenkeel.dev/a\nremediation.evenkeel.dev/b\n"},
		"a list of nothing": {&v1alpha1.RemediationList{}, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			if err := (&output{format: outputName}).objects(&out, tc.object, nil); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, out.String()); diff != "" {
				t.Errorf("names (-want +got)\n%s", diff)
			}
		})
	}
}
