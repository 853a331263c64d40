// SPDX-License-Identifier: Apache-2.0

package reviews

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func object(apiVersion, kind, namespace string) tree {
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
	for _, review := range Of(m, slices.Repeat([]tree{of}, 100), changed) {
		request, _ := review["request"].(tree)
		all = append(all, request)
	}
	return all
}

func TestAReviewHasTheObjectsOfItsOperation(t *testing.T) {
	for _, r := range made(object("networking.k8s.io/v1", "IngressClass", "")) {
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
	for _, r := range made(object("v1", "Pod", "shop")) {
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
	asked, err := read(file)
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
	for _, r := range made(object("v1", "Namespace", "")) {
		if name, named := r["name"]; named && r["namespace"] != name {
			t.Errorf("it is in %v", r["namespace"])
		}
	}
}
