// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"evenkeel.dev/evenkeel/internal/policy"
)

type tree = map[string]any

// legacy is a Deployment whose first container is privileged and whose Pods share
// the host's network and have a volume of the host, which both containers mount or not.
const legacy = `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","labels":{"app":"web"},"generation":3},
"spec":{"replicas":2,"template":{"metadata":{"labels":{"app":"web"}},"spec":{"hostNetwork":true,
"volumes":[{"name":"host","hostPath":{"path":"/"}},{"name":"tmp","emptyDir":{}}],
"tolerations":[{"operator":"Exists"},{"key":"a","operator":"Exists"}],
"containers":[
{"name":"agent","image":"agent:1","command":["run"],"resources":{"limits":{"memory":"1Gi"}},"ports":[{"containerPort":80,"hostPort":80}],"securityContext":{"privileged":true},"volumeMounts":[{"name":"host","mountPath":"/host"}]},
{"name":"side","image":"side:1","volumeMounts":[{"name":"tmp","mountPath":"/tmp"}]}]}}}}`

const (
	podSpec    = "/spec/template/spec"
	privileged = podSpec + "/containers/0/securityContext/privileged"
)

func parsed(t interface{ Fatal(...any) }, text string) tree {
	var out tree
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func in(object tree, path ...string) tree {
	for _, field := range path {
		object = object[field].(tree)
	}
	return object
}

func podIn(object tree) tree { return in(object, "spec", "template", "spec") }

func containerIn(object tree, i int) tree { return podIn(object)["containers"].([]any)[i].(tree) }

func found(object tree, paths ...string) policy.Judged {
	j := policy.Judged{Object: object}
	for _, path := range paths {
		j.Violations = append(j.Violations, policy.Violation{Message: "bad", Path: path})
	}
	return j
}

func TestCompare(t *testing.T) {
	const old, altered, fresh = "old", "altered", "new"
	swap := func(list string) func(tree) {
		return func(o tree) {
			elements := podIn(o)[list].([]any)
			elements[0], elements[1] = elements[1], elements[0]
		}
	}
	add := func(list string, element tree) func(tree) {
		return func(o tree) {
			elements, _ := podIn(o)[list].([]any)
			podIn(o)[list] = append(elements, element)
		}
	}
	set := func(i int, field string, value any) func(tree) {
		return func(o tree) { containerIn(o, i)[field] = value }
	}
	cases := map[string]struct {
		reason string
		path   string
		change func(tree)
		after  string // the path after the change, when it is another
		want   string
	}{
		"nothing changes": {"", privileged, func(tree) {}, "", old},
		"the number of replicas": {"a hotfix", privileged, func(o tree) {
			in(o, "spec")["replicas"] = 5
		}, "", old},
		"a label": {"a hotfix", privileged, func(o tree) {
			in(o, "metadata", "labels")["tier"] = "x"
		}, "", old},
		"the image of another container": {"a hotfix", privileged, set(1, "image", "side:2"), "", old},
		"its resources": {
			"a hotfix, and a resize", privileged, set(0, "resources", tree{"limits": tree{"memory": "2Gi"}}), "", old},
		"another field of its security context": {"a step in the right direction", privileged, func(o tree) {
			in(containerIn(o, 0), "securityContext")["runAsNonRoot"] = true
		}, "", old},
		"the order of the containers": {"it is known by its name", privileged, swap("containers"),
			podSpec + "/containers/1/securityContext/privileged", old},
		"its image": {"a privilege that another program uses", privileged,
			set(0, "image", "evil"), "", altered},
		"its command": {"likewise", privileged, set(0, "command", []any{"sh"}), "", altered},
		"its environment": {
			"likewise", privileged, set(0, "env", []any{tree{"name": "LD_PRELOAD", "value": "/x"}}), "", altered},
		"its liveness probe": {
			"a probe runs commands", privileged, set(0, "livenessProbe", tree{"exec": tree{"command": []any{"sh"}}}),
			"", altered},
		"its name": {"another container", privileged, set(0, "name", "evil"), "", fresh},
		"another container that takes its place in the list": {
			"its violation is at the same position", privileged, swap("containers"), "", fresh},
		"a violation of another container": {
			"it wasn't there", podSpec + "/containers/1", set(1, "image", "x"), podSpec + "/containers/0", fresh},
		"the value at the path within a container": {
			"a port without a name is known by its number", podSpec + "/containers/0/ports/0/hostPort", func(o tree) {
				containerIn(o, 0)["ports"].([]any)[0].(tree)["hostPort"] = 443
			}, "", fresh},
		"a container, seen as a whole": {
			"what violates isn't said more closely", podSpec + "/containers/0", func(o tree) {
				in(containerIn(o, 0), "securityContext")["capabilities"] = tree{"add": []any{"ALL"}}
			}, "", altered},
		"the resources of a container, seen as a whole": {
			"a resize", podSpec + "/containers/0", set(0, "resources", tree{}), "", old},
		"the resources, where they violate": {
			"they are what violates", podSpec + "/containers/0/resources", set(0, "resources", tree{}), "", altered},
		"an image under the host's network": {
			"all containers use it", podSpec + "/hostNetwork", set(1, "image", "evil"), "", altered},
		"a container more under the host's network": {
			"likewise", podSpec + "/hostNetwork", add("containers", tree{"name": "evil"}), "", altered},
		"an ephemeral container under the host's network": {
			"likewise", podSpec + "/hostNetwork", add("ephemeralContainers", tree{"name": "evil"}), "", altered},
		"an ephemeral container beside a privileged one": {
			"it has no privilege", privileged, add("ephemeralContainers", tree{"name": "debug"}), "", old},
		"replicas and resources under the host's network": {
			"a hotfix", podSpec + "/hostNetwork", func(o tree) {
				in(o, "spec")["replicas"] = 9
				containerIn(o, 1)["resources"] = tree{}
			}, "", old},
		"the image that mounts the violating volume": {
			"it is what reaches the host", podSpec + "/volumes/0/hostPath", set(0, "image", "evil"), "", altered},
		"a new container that mounts the violating volume": {
			"likewise", podSpec + "/volumes/0",
			add("initContainers", tree{"name": "evil", "volumeMounts": []any{tree{"name": "host"}}}), "", altered},
		"a container that doesn't mount the violating volume": {
			"a hotfix", podSpec + "/volumes/0/hostPath", set(1, "image", "side:2"), "", old},
		"another path of the host": {
			"the volume violates as a whole", podSpec + "/volumes/0/hostPath", func(o tree) {
				podIn(o)["volumes"].([]any)[0].(tree)["hostPath"] = tree{"path": "/etc"}
			}, "", altered},
		"the order of the volumes": {
			"it is known by its name", podSpec + "/volumes/0/hostPath", swap("volumes"),
			podSpec + "/volumes/1/hostPath", old},
		"the order of elements without names": {
			"they are known by what they hold", podSpec + "/tolerations/0/operator", swap("tolerations"),
			podSpec + "/tolerations/1/operator", old},
		"an element without a name": {
			"no other is like it", podSpec + "/tolerations/1/key", func(o tree) {
				podIn(o)["tolerations"].([]any)[1].(tree)["key"] = "b"
			}, "", fresh},
		"without a path, the replicas": {"a hotfix", "", func(o tree) {
			in(o, "spec")["replicas"] = 5
		}, "", old},
		"without a path, a label of the template": {
			"a restart sets an annotation there", "", func(o tree) {
				in(o, "spec", "template", "metadata", "labels")["x"] = "y"
			}, "", old},
		"without a path, a resize": {
			"a hotfix", "", set(0, "resources", tree{}), "", old},
		"without a path, the image of any container": {
			"it can't be known which violates", "", set(1, "image", "side:2"), "", altered},
		"without a path, the security context": {
			"it may be what violates", "", set(0, "securityContext", tree{}), "", altered},
		"a path that ends above the Pod's spec, the replicas": {
			"it says no more than none", "/spec", func(o tree) { in(o, "spec")["replicas"] = 5 }, "", old},
		"a path that ends above the Pod's spec, an image": {
			"likewise", "/spec/template", set(1, "image", "x"), "", altered},
		"a number outside of the Pod, an image": {
			"it isn't about what runs", "/spec/replicas", set(0, "image", "agent:2"), "", old},
		"a number outside of the Pod": {
			"it is what violates", "/spec/replicas", func(o tree) { in(o, "spec")["replicas"] = 3 }, "", altered},
		"a label that is missing, while another is set": {
			"labels as a whole don't violate", "/metadata/labels", func(o tree) {
				in(o, "metadata", "labels")["tier"] = "x"
			}, "", old},
		"a label with a wrong value, and another wrong value": {
			"it is what violates", "/metadata/labels/app", func(o tree) {
				in(o, "metadata", "labels")["app"] = "y"
			}, "", altered},
		"the metadata as a whole, with its bookkeeping": {
			"each update changes it", "/metadata", func(o tree) { in(o, "metadata")["generation"] = 4 }, "", old},
		"a field that is missing in both": {
			"nothing has changed", podSpec + "/containers/0/securityContext/runAsNonRoot", func(tree) {}, "", old},
		"a field that is missing in both, and an image": {
			"it runs something else", podSpec + "/containers/0/securityContext/runAsNonRoot", set(0, "image", "x"), "",
			altered},
		"a field of a Pod, in a path that isn't the workload's, and an image": {
			"the path leads nowhere, so it says no more than none", "/spec/containers/0/securityContext",
			set(0, "image", "x"), "", altered},
		"the same, at its first step": {
			"likewise", "/spec/hostPID", set(0, "image", "x"), "", altered},
		"the same, and the replicas": {
			"a hotfix", "/spec/hostPID", func(o tree) { in(o, "spec")["replicas"] = 9 }, "", old},
		"a position that isn't there": {
			"a path of Rego may be anything", podSpec + "/containers/7/image", func(tree) {}, "", old},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			after := parsed(t, legacy)
			tc.change(after)
			if tc.after == "" {
				tc.after = tc.path
			}
			change := policy.Compare(found(parsed(t, legacy), tc.path), found(after, tc.after))
			got := map[[3]int]string{{0, 0, 1}: old, {1, 1, 0}: altered,
				{1, 0, 0}: fresh}[[3]int{len(change.Counted), len(change.Altered), len(change.Old)}]
			if got != tc.want {
				t.Errorf("%s: the violation is taken for %s, want %s: %+v", tc.reason, got, tc.want, change)
			}
		})
	}
}

func TestCompareOtherKinds(t *testing.T) {
	role := func(verb string) tree {
		return tree{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
			"metadata": tree{"name": "r", "labels": tree{"v": verb}},
			"rules": []any{tree{"resources": []any{"pods"}, "verbs": []any{"get"}},
				tree{"resources": []any{"*"}, "verbs": []any{verb}}}}
	}
	rollout := func(image string) tree {
		return tree{"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout",
			"spec": tree{"template": tree{"spec": tree{"containers": []any{
				tree{"name": "a", "image": image, "securityContext": tree{"privileged": true}}}}}}}
	}
	for name, tc := range map[string]struct {
		reason        string
		before, after tree
		path          string
		wantOld       bool
	}{
		"a rule of a Role": {"the rule violates as a whole", role("list"), role("delete"),
			"/rules/1/resources", false},
		"another rule of a Role": {"it is as it was", role("list"), role("delete"), "/rules/0/resources",
			true},
		"without a path, metadata": {"a hotfix of a label", role("list"), func() tree {
			r := role("list")
			r["metadata"] = tree{}
			return r
		}(), "", true},
		"without a path, anything else": {"it may be what violates", role("list"), role("delete"), "", false},
		"a template of an unknown kind": {"containers are known by their lists", rollout("a"), rollout("evil"),
			privileged, false},
		"the same in an unknown kind": {"nothing has changed", rollout("a"), rollout("a"), privileged, true},
		"a Pod that isn't like any other": {
			"a malformed list", tree{"kind": "Pod", "apiVersion": "v1", "spec": tree{"containers": []any{7, nil}}},
			tree{"kind": "Pod", "apiVersion": "v1", "spec": tree{"containers": []any{7, 8}}}, "/spec/containers/0/x",
			true},
	} {
		t.Run(name, func(t *testing.T) {
			change := policy.Compare(found(tc.before, tc.path), found(tc.after, tc.path))
			if got := len(change.Old) == 1; got != tc.wantOld {
				t.Errorf("%s: old = %t, want %t", tc.reason, got, tc.wantOld)
			}
		})
	}
}

func TestCompareCountsTwins(t *testing.T) {
	list := func(values ...any) tree { return tree{"kind": "X", "spec": tree{"list": values}} }
	change := policy.Compare(found(list("a"), "/spec/list/0"), found(list("a", "a"), "/spec/list/0", "/spec/list/1"))
	if len(change.Old) != 1 || len(change.Altered) != 1 {
		t.Errorf("a second element like the first isn't old: %+v", change)
	}
}

// What Compare takes for old runs what it ran, whatever is changed together.
func TestOldViolationsRunWhatTheyRan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		after := parsed(t, legacy)
		containers := podIn(after)["containers"].([]any)
		if rapid.Bool().Draw(t, "swapped") {
			containers[0], containers[1] = containers[1], containers[0]
		}
		touched := map[string]bool{}
		for range rapid.IntRange(0, 3).Draw(t, "changes") {
			container := containers[rapid.IntRange(0, 1).Draw(t, "container")].(tree)
			field := rapid.SampledFrom(
				[]string{"image", "command", "args", "env", "volumeMounts", "lifecycle", "resources"}).Draw(t, "field")
			container[field] = rapid.StringMatching("[a-z]{8}").Draw(t, "value")
			touched[container["name"].(string)] = touched[container["name"].(string)] || field != "resources"
		}
		before, now := found(parsed(t, legacy), podSpec+"/containers/0", podSpec+"/containers/1",
			podSpec+"/hostNetwork"),
			found(after, podSpec+"/containers/0", podSpec+"/containers/1", podSpec+"/hostNetwork")
		old := map[string]bool{}
		for _, v := range policy.Compare(before, now).Old {
			old[v.Path] = true
		}
		for i, container := range containers {
			name := container.(tree)["name"].(string)
			path := podSpec + "/containers/" + string(rune('0'+i))
			if old[path] == touched[name] {
				t.Errorf("container %s at %s: changed = %t, but old = %t", name, path, touched[name], old[path])
			}
		}
		if changed := touched["agent"] || touched["side"]; old[podSpec+"/hostNetwork"] == changed {
			t.Errorf("a container changed = %t, but the network of the Pod is old = %t", changed,
				old[podSpec+"/hostNetwork"])
		}
	})
}

func TestSameViolations(t *testing.T) {
	template, pod := parsed(t, legacy), parsed(t, legacy)
	containerIn(pod, 0)["image"] = "mirror.example.com/agent:1"
	podIn(pod)["containers"] = append([]any{tree{"name": "injected"}}, podIn(pod)["containers"].([]any)...)
	same := policy.SameViolations(
		found(template, privileged),
		found(pod, podSpec+"/containers/0/securityContext/privileged",
			podSpec+"/containers/1/securityContext/privileged"))
	want := []policy.Violation{{Message: "bad", Path: podSpec + "/containers/1/securityContext/privileged"}}
	if diff := cmp.Diff(want, same); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
