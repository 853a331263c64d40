// SPDX-License-Identifier: Apache-2.0

package kube_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/internal/kube"
)

// family is a cluster that holds the metadata of owners, by kind and name.
type family map[string]owner

// owner is an object of the family: its UID, who owns it ("kind name uid"), and
// the error that reading it meets.
type owner struct {
	uid, by string
	global  bool
	err     error
}

func (f family) Get(_ context.Context, key client.ObjectKey, out client.Object, _ ...client.GetOption) error {
	o, found := f[out.GetObjectKind().GroupVersionKind().Kind+" "+key.Name]
	switch {
	case !found:
		return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
	case o.err != nil:
		return o.err
	}
	out.SetName(key.Name)
	out.SetUID(types.UID(o.uid))
	if !o.global {
		out.SetNamespace(key.Namespace)
	}
	out.SetOwnerReferences(ownedBy(o.by))
	return nil
}

// ownedBy reads "apiVersion kind name uid".
func ownedBy(text string) []metav1.OwnerReference {
	parts := strings.Fields(text)
	if len(parts) != 4 {
		return nil
	}
	yes := true
	return []metav1.OwnerReference{
		{APIVersion: "v1", Kind: "ConfigMap", Name: "bystander", UID: "b"}, // an owner that controls nothing
		{APIVersion: parts[0], Kind: parts[1], Name: parts[2], UID: types.UID(parts[3]), Controller: &yes},
	}
}

func TestRootOf(t *testing.T) {
	const replicaSet, deployment = "apps/v1 ReplicaSet web-7d4b rs", "apps/v1 Deployment web d"
	forbidden := apierrors.NewForbidden(schema.GroupResource{Group: "example.com", Resource: "databases"}, "main",
		errors.New("no"))
	type want struct{ Chain, Root, RootNamespace, Stopped, Err string }
	cases := map[string]struct {
		reason string
		by     string
		family family
		want   want
	}{
		"An object without a controller is its own root": {reason: "nobody makes it", want: want{}},
		"A Pod's root is its Deployment": {
			reason: "the ReplicaSet is only on the way", by: replicaSet,
			family: family{"ReplicaSet web-7d4b": {uid: "rs", by: deployment}, "Deployment web": {uid: "d"}},
			want:   want{Chain: "ReplicaSet web-7d4b of Deployment web", Root: "web", RootNamespace: "shop"},
		},
		"A custom resource is a root like any other, named with its group": {
			reason: "its operator makes the rest", by: "apps/v1 StatefulSet main s",
			family: family{"StatefulSet main": {uid: "s", by: "example.com/v1 Database main db"},
				"Database main": {uid: "db"}},
			want: want{Chain: "StatefulSet main of Database.example.com main", Root: "main", RootNamespace: "shop"},
		},
		"A cluster-scoped owner has no namespace": {
			reason: "a namespaced object may have one", by: "example.com/v1 Fleet all f",
			family: family{"Fleet all": {uid: "f", global: true}},
			want:   want{Chain: "Fleet.example.com all", Root: "all"},
		},
		"A missing owner ends the chain": {
			reason: "garbage collection comes later", by: replicaSet,
			family: family{"ReplicaSet web-7d4b": {uid: "rs", by: deployment}},
			want: want{Chain: "ReplicaSet web-7d4b of Deployment web",
				Stopped: "Deployment web doesn't exist any more"},
		},
		"An owner of an unknown kind ends the chain": {
			reason: "its definition isn't there now: the owner may be", by: "example.com/v1 Database main db",
			family: family{"Database main": {
				err: &meta.NoKindMatchError{GroupKind: schema.GroupKind{Kind: "Database"}}}},
			want: want{Chain: "Database.example.com main",
				Stopped: "whether Database.example.com main is there isn't known: the API server doesn't serve its " +
					"kind now"},
		},
		"Another object under the owner's name isn't the owner": {
			reason: "the UID tells them apart", by: replicaSet, family: family{"ReplicaSet web-7d4b": {uid: "other"}},
			want: want{Chain: "ReplicaSet web-7d4b",
				Stopped: "ReplicaSet web-7d4b was deleted, and another bears its name"},
		},
		"An owner that may not be read names the missing permission": {
			reason: "an administrator can grant just that", by: "apps/v1 StatefulSet main s",
			family: family{"StatefulSet main": {uid: "s", by: "example.com/v1 Database main db"},
				"Database main": {err: forbidden}},
			want: want{Chain: "StatefulSet main of Database.example.com main",
				Stopped: "whether Database.example.com main has an owner of its own isn't known: " +
					`grant the controller {apiGroups: ["example.com"], resources: ["databases"], verbs: ["get", "list"]}`},
		},
		"A circle ends where it closes": {
			reason: "a wrong reference mustn't hang the controller", by: "v1 A a 1",
			family: family{"A a": {uid: "1", by: "v1 B b 2"}, "B b": {uid: "2", by: "v1 A a 1"}},
			want: want{Chain: "A a of B b", Root: "b", RootNamespace: "shop",
				Stopped: "A a owns itself, by way of others"},
		},
		"An object that owns itself is a circle": {
			reason: "the smallest one", by: "v1 Pod web self",
			want: want{Stopped: "Pod web owns itself, by way of others"},
		},
		"A tower of owners ends after sixteen": {
			reason: "nothing real is that deep", by: "v1 N n0 0", family: tower(20),
			want: want{Chain: strings.TrimSuffix(strings.Repeat("N n? of ", 16), " of "), Root: "n15",
				RootNamespace: "shop",
				Stopped:       "there are more than 16 owners one above the other"},
		},
		"A failing API server is an error": {
			reason: "the answer isn't known, and will be", by: replicaSet,
			family: family{"ReplicaSet web-7d4b": {err: apierrors.NewInternalError(errors.New("down"))}},
			want:   want{Chain: "ReplicaSet web-7d4b", Err: "read ReplicaSet web-7d4b, which owns the object"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			obj := &metav1.ObjectMeta{Name: "web", Namespace: "shop", UID: "self", OwnerReferences: ownedBy(tc.by)}
			l, err := kube.RootOf(t.Context(), tc.family, obj)
			got := want{Chain: digitless(l.String()), Stopped: l.Stopped}
			if l.Root != nil {
				got.Root, got.RootNamespace = l.Root.Name, l.Root.Namespace
			}
			if err != nil {
				got.Err, _, _ = strings.Cut(err.Error(), ": ")
			}
			if tc.family["N n0"].uid == "" {
				got.Chain = l.String()
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\nRootOf: -want +got\n%s", tc.reason, diff)
			}
			if kube.Owned(obj) != (tc.by != "") {
				t.Errorf("Owned: want %t", tc.by != "")
			}
		})
	}
}

// tower is n objects, each owned by the next.
func tower(n int) family {
	f := family{}
	for i := range n {
		f[fmt.Sprintf("N n%d", i)] = owner{uid: fmt.Sprint(i), by: fmt.Sprintf("v1 N n%d %d", i+1, i+1)}
	}
	return f
}

// digitless writes every number as a question mark.
func digitless(s string) string {
	var out strings.Builder
	for i, r := range s {
		switch digit := r >= '0' && r <= '9'; {
		case !digit:
			out.WriteRune(r)
		case i == 0 || s[i-1] < '0' || s[i-1] > '9':
			out.WriteByte('?')
		}
	}
	return out.String()
}
