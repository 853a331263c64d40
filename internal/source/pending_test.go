// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/source/git"
)

// conflicting is a desk at which revision B waits for a policy of its name to go, which
// is given too.
func conflicting(t *testing.T, change ...func(*v1alpha1.PolicySource)) (*desk, *v1alpha1.ClusterRegoPolicy) {
	t.Helper()
	d := newDesk(t, change...)
	login := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: hats.namespace, Name: "login"}}
	foreign := located("caps").Definition
	if err := errors.Join(d.c.client.Create(t.Context(), login), d.c.client.Create(t.Context(), foreign)); err != nil {
		t.Fatal(err)
	}
	d.holds(revisionA, "hats")
	if src := d.look(); src.Status.Revision != revisionA {
		t.Fatalf("it begins with %v", src.Status)
	}
	d.holds(revisionB, "hats", "caps")
	if ready := readyOf(d.ask()); ready.Reason != v1alpha1.ReasonPolicyConflict {
		t.Fatalf("beside a policy of that name: %v", ready)
	}
	return d, foreign
}

func withLogin(src *v1alpha1.PolicySource) {
	src.Spec.SecretRef = &v1alpha1.SecretReference{Name: "login"}
}

// What keeps the repository from being asked says nothing of what it gave before.
func TestARevisionThatWaitsOutlastsWhatSaysNothingOfIt(t *testing.T) {
	refuses := func(kind error) func(*desk) { return func(d *desk) { d.refuses = kind } }
	tests := map[string]struct {
		reason string
		then   func(*desk)
	}{
		"the credentials are gone": {"the signers are known all the same", func(d *desk) {
			login := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: hats.namespace, Name: "login"}}
			if err := d.c.client.Delete(t.Context(), login); err != nil {
				t.Fatal(err)
			}
		}},
		"the credentials aren't taken":  {"they aren't the revision's", refuses(git.ErrAuthentication)},
		"the server isn't trusted":      {"another one answers", refuses(git.ErrUntrusted)},
		"the credentials are malformed": {"they aren't the revision's", refuses(git.ErrInvalid)},
		"the signers can't be read now": {"they may be the same", func(d *desk) { d.secretFails("signers") }},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			d, foreign := conflicting(t, verified, withLogin)
			tc.then(d)
			d.ask()
			if err := d.c.client.Delete(t.Context(), foreign); err != nil {
				t.Fatal(err)
			}
			if src := d.look(); src.Status.Revision != revisionB {
				t.Errorf("%s: revision %s, %v", tc.reason, src.Status.Revision, readyOf(src))
			}
		})
	}
}

// secretFails has the API server fail when it is asked for a Secret, until it is said not
// to.
func (d *desk) secretFails(name string) func() {
	d.t.Helper()
	fails := true
	d.c.secrets.Reader = interceptor.NewClient(d.api, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object,
			opts ...client.GetOption) error {
			if fails && key.Name == name {
				return apierrors.NewInternalError(errors.New("no quorum"))
			}
			return c.Get(ctx, key, o, opts...)
		}})
	return func() { fails = false }
}

// policyFails has the API server fail when a policy is written, until it is said not to.
func (d *desk) policyFails(name string) func() {
	d.t.Helper()
	fails := true
	d.c.client = interceptor.NewClient(d.api, interceptor.Funcs{
		Apply: func(ctx context.Context, c client.WithWatch, o runtime.ApplyConfiguration,
			opts ...client.ApplyOption) error {
			named, _ := o.(interface{ GetName() string })
			tried := (&client.ApplyOptions{}).ApplyOptions(opts).DryRun != nil
			if fails && !tried && named != nil && named.GetName() == name {
				return apierrors.NewInternalError(errors.New("no quorum"))
			}
			return c.Apply(ctx, o, opts...)
		}})
	return func() { fails = false }
}

// What a revision has made is removed only if the repository or its signers don't stand
// for it any more.
func TestAHalfWrittenRevisionIsNotUndoneByAFailureThatSaysNothingOfIt(t *testing.T) {
	d := newDesk(t, verified)
	d.holds(revisionA, "hats")
	d.look()
	written := d.policyFails("mitts")
	d.holds(revisionB, "hats", "caps", "mitts")
	if ready := readyOf(d.ask()); ready.Reason != v1alpha1.ReasonApplyFailed || d.policy("caps") == nil {
		t.Fatalf("it begins with %v", ready)
	}
	made := d.policy("caps").UID
	readable := d.secretFails("signers")
	if ready := readyOf(d.look()); ready.Status != metav1.ConditionFalse || d.policy("caps") == nil {
		t.Errorf("the policy that it has made is removed: %v", ready)
	}
	written()
	readable()
	if src := d.look(); src.Status.Revision != revisionB || d.policy("mitts") == nil || d.policy("caps").UID != made {
		t.Errorf("it isn't completed: %v", readyOf(src))
	}
}

// Whatever happens to policies has no repository asked more often than failures do.
func TestPassesBetweenTwoLooksAskTheRepositoryForARevisionThatWaits(t *testing.T) {
	const moment = firstRetry / 5
	d, foreign := conflicting(t)
	edit := func() {
		t.Helper()
		p := d.policy("hats")
		p.Spec.Title = "Any hats"
		if err := d.c.client.Update(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	looks := func(wait time.Duration, fetched int, why string) *v1alpha1.PolicySource {
		t.Helper()
		before := d.fetched
		src := d.lookAfter(wait)
		if d.fetched-before != fetched {
			t.Errorf("%s: the repository was asked %d times", why, d.fetched-before)
		}
		return src
	}
	edit()
	looks(moment, 0, "right after it was asked")
	if d.policy("hats").Spec.Title == "Any hats" {
		t.Error("an edit isn't corrected meanwhile")
	}
	looks(firstRetry, 1, "when something has happened to a policy")
	if err := d.c.client.Delete(t.Context(), foreign); err != nil {
		t.Fatal(err)
	}
	if src := looks(moment, 0, "right after that"); src.Status.Revision != revisionA {
		t.Errorf("it came into force without the repository being asked: %s", src.Status.Revision)
	}
	if src := looks(firstRetry, 1, "when it may be asked"); src.Status.Revision != revisionB {
		t.Errorf("it doesn't come into force: %v", readyOf(src))
	}
	edit()
	looks(firstRetry*2, 0, "when nothing waits")
}

// While a source is tried again, at longer and longer intervals, no policy shortens them;
// and what is written already stays.
func TestPassesBetweenTwoLooksLeaveAHalfWrittenRevisionAsItIs(t *testing.T) {
	d := newDesk(t)
	d.holds(revisionA, "hats")
	d.look()
	d.policyFails("mitts")
	d.holds(revisionB, "hats", "caps", "mitts")
	d.ask()
	fetched := d.fetched
	if d.lookAfter(firstRetry / 5); d.fetched != fetched {
		t.Error("the repository is asked again at once")
	}
	if d.policy("caps") == nil {
		t.Error("what the revision has made is removed")
	}
}
