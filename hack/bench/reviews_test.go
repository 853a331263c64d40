// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

type tree = map[string]any

// maker makes reviews by chance, the same ones for the same objects and source of chance.
type maker struct {
	*rand.Rand
	count int
}

// reviewsOf gives the reviews of objects: of each its creation, its update to what again gives, its deletion, and where
// its kind has some, something sent to a subresource.
func reviewsOf(chance *rand.Rand, objects []map[string]any,
	again func(map[string]any) map[string]any) (all []map[string]any) {
	m := &maker{Rand: chance}
	for _, object := range objects {
		all = append(all, m.creation(object), m.update(object, again(object)), m.deletion(object))
		if sent := m.toSubresource(object, again); sent != nil {
			all = append(all, sent)
		}
	}
	return all
}

// creation lacks the name now and then, as where the server is to generate it.
func (m *maker) creation(object tree) tree {
	r := m.request("CREATE", object, object, nil)
	if m.IntN(8) == 0 {
		unnamed, metadata := maps.Clone(object), maps.Clone(metadataOf(object))
		metadata["generateName"] = metadata["name"]
		delete(metadata, "name")
		unnamed["metadata"], r["object"] = metadata, unnamed
		delete(r, "name")
		if kindOf(object) == "Namespace" {
			delete(r, "namespace")
		}
	}
	return review(r)
}

func (m *maker) update(before, after tree) tree {
	return review(m.request("UPDATE", after, after, before))
}

// deletion has no object: the API server sends what is deleted as the old one.
func (m *maker) deletion(object tree) tree { return review(m.request("DELETE", object, nil, object)) }

// request is one on an object itself; of names it. What the API server sends of every request stands in it, and
// what it leaves out where it is empty doesn't.
func (m *maker) request(operation string, of, object, old tree) tree {
	m.count++
	group, version := groupVersion(of)
	kind := tree{"group": group, "version": version, "kind": kindOf(of)}
	resource := tree{"group": group, "version": version, "resource": plural(kindOf(of))}
	r := tree{"uid": fmt.Sprintf("0b2a7f6e-0000-4000-8000-%012d", m.count), "operation": operation,
		"kind": kind, "resource": resource, "requestKind": kind, "requestResource": resource,
		"object": nil, "oldObject": nil, "dryRun": m.IntN(4) == 0, "userInfo": m.user(),
		"options": m.options(operation)}
	if object != nil {
		r["object"] = object
	}
	if old != nil {
		r["oldObject"] = old
	}
	metadata := metadataOf(of)
	r["name"] = metadata["name"]
	if namespace, in := metadata["namespace"]; in {
		r["namespace"] = namespace
	} else if kindOf(of) == "Namespace" {
		r["namespace"] = metadata["name"] // the API server has a Namespace live in itself
	}
	return r
}

// user is who asks: a person, a controller, or somebody of whom little is known.
func (m *maker) user() tree {
	switch m.IntN(4) {
	case 0:
		return tree{"username": "jane@example.com", "groups": []any{"shop:admins", "system:authenticated"}}
	case 1:
		return tree{"username": "system:serviceaccount:kube-system:replicaset-controller", "uid": "8e1c5d0a",
			"groups": []any{"system:serviceaccounts", "system:authenticated"},
			"extra":  tree{"authentication.kubernetes.io/credential-id": []any{"JTI=1"}, "scopes": []any{}}}
	case 2:
		return tree{"username": "bob", "groups": []any{}, "extra": tree{}}
	default:
		return tree{}
	}
}

func (m *maker) options(operation string) any {
	switch {
	case operation == "CONNECT":
		return nil
	case operation == "DELETE":
		return tree{"kind": "DeleteOptions", "apiVersion": "meta.k8s.io/v1", "gracePeriodSeconds": m.IntN(60),
			"propagationPolicy": "Background"}
	default:
		return tree{"kind": strings.ToUpper(operation[:1]) + strings.ToLower(operation[1:]) + "Options",
			"apiVersion": "meta.k8s.io/v1", "fieldManager": "kubectl-edit", "fieldValidation": "Strict"}
	}
}

func review(request tree) tree {
	return tree{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
}

func kindOf(object tree) string { kind, _ := object["kind"].(string); return kind }

func metadataOf(object tree) tree { metadata, _ := object["metadata"].(tree); return metadata }

func groupVersion(object tree) (group, version string) {
	apiVersion, _ := object["apiVersion"].(string)
	if group, version, grouped := strings.Cut(apiVersion, "/"); grouped {
		return group, version
	}
	return "", apiVersion
}

func plural(kind string) string {
	if lower := strings.ToLower(kind); strings.HasSuffix(lower, "s") {
		return lower + "es"
	}
	return strings.ToLower(kind) + "s"
}

func objectIn(apiVersion, kind, namespace string) tree {
	metadata := tree{"name": "web"}
	if namespace != "" {
		metadata["namespace"] = namespace
	}
	return tree{"apiVersion": apiVersion, "kind": kind, "metadata": metadata}
}

// made are the reviews of an object, a hundred times over.
func made(of tree) (all []tree) {
	m := rand.New(rand.NewPCG(1, 1))
	changed := func(o tree) tree {
		return tree{"apiVersion": o["apiVersion"], "kind": o["kind"], "metadata": o["metadata"], "changed": true}
	}
	for _, review := range reviewsOf(m, slices.Repeat([]tree{of}, 100), changed) {
		request, _ := review["request"].(tree)
		all = append(all, request)
	}
	return all
}

func TestAReviewHasTheObjectsOfItsOperation(t *testing.T) {
	for _, r := range made(objectIn("networking.k8s.io/v1", "IngressClass", "")) {
		object, old := r["object"] != nil, r["oldObject"] != nil
		want := map[string][2]bool{"CREATE": {true, false}, "UPDATE": {true, true}, "DELETE": {false, true}}
		operation, _ := r["operation"].(string)
		if got := [2]bool{object, old}; got != want[operation] {
			t.Errorf("%s has an object, and an old one: %v", operation, got)
		}
		if operation == "UPDATE" && r["object"].(tree)["changed"] != true {
			t.Error("an update changes nothing")
		}
		resource, _ := r["resource"].(tree)
		if _, in := r["namespace"]; in || resource["resource"] != "ingressclasses" {
			t.Errorf("%v of %v", r["namespace"], resource)
		}
	}
}

func TestEverythingIsSentToPods(t *testing.T) {
	var lines []byte
	for _, r := range made(objectIn("v1", "Pod", "shop")) {
		raw, err := json.Marshal(review(r))
		if err != nil {
			t.Fatal(err)
		}
		lines = append(append(lines, raw...), '\n')
	}
	seen := map[string]string{}
	file := filepath.Join(t.TempDir(), "reviews")
	if err := os.WriteFile(file, lines, 0o600); err != nil {
		t.Fatal(err)
	}
	asked, err := readRequests(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range asked {
		seen[r.what()] = r.Kind.Kind
		if r.Namespace != "shop" {
			t.Errorf("%s is in %q", r, r.Namespace)
		}
	}
	for what, kind := range map[string]string{"CREATE": "Pod", "CONNECT pods/exec": "PodExecOptions",
		"CREATE pods/eviction": "Eviction", "UPDATE pods/ephemeralcontainers": "Pod", "UPDATE pods/resize": "Pod",
		"CONNECT pods/attach": "PodAttachOptions", "CONNECT pods/portforward": "PodPortForwardOptions",
		"CONNECT pods/proxy": "PodProxyOptions"} {
		if seen[what] != kind {
			t.Errorf("%s sends %q, want %q", what, seen[what], kind)
		}
	}
}

func TestANamespaceLivesInItself(t *testing.T) {
	for _, r := range made(objectIn("v1", "Namespace", "")) {
		if name, named := r["name"]; named && r["namespace"] != name {
			t.Errorf("it is in %v", r["namespace"])
		}
	}
}
