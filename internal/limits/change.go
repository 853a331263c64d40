// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// change is one place of an object that a fix sets, with the class of its power.
type change struct {
	path  string
	class Class
}

// judged gathers the changes of one object.
type judged struct {
	kind    schema.GroupKind
	changes []change
}

func (j *judged) add(path string, class Class) {
	if class != "" {
		j.changes = append(j.changes, change{path, class})
	}
}

func updated(before, after map[string]any) []change {
	gk, _ := identify(before)
	j := &judged{kind: gk}
	if isEqual(before, after) {
		return nil
	}
	j.walk("", before, after)
	j.network(before, after)
	return j.changes
}

func created(object map[string]any) []change {
	gk, _ := identify(object)
	j := &judged{kind: gk}
	j.walk("", nil, object)
	j.network(nil, object)
	return j.changes
}

func removed(object map[string]any) []change {
	gk, _ := identify(object)
	if gk == networkPolicy() {
		return []change{{"/", ClassNetwork}}
	}
	return nil
}

// walk compares what lies at a path before and after. A Pod's spec is looked for by
// its form, wherever it is; in kinds that aren't Kubernetes's own, so is any field
// that bears the name of a powerful one.
func (j *judged) walk(path string, before, after any) {
	b, a := asMap(before), asMap(after)
	switch {
	case isEqual(before, after), j.metadata(path, before, after):
	case isPodSpec(b) || isPodSpec(a):
		j.podSpec(path, b, a)
	case b == nil && a == nil:
		j.list(path, before, after)
	case j.custom() && isSecurityContext(path):
		j.securityContext(path, b, a, nil)
	default:
		j.each(path, before, after)
	}
}

func (j *judged) each(path string, before, after any) {
	b, a := asMap(before), asMap(after)
	for _, key := range keys(b, a) {
		j.walk(join(path, key), b[key], a[key])
	}
	if before != nil && b == nil || after != nil && a == nil {
		j.leaf(path, after) // something else took the place of an object
	}
}

// list compares lists place by place, and what is no list as it stands.
func (j *judged) list(path string, before, after any) {
	b, wasList := before.([]any)
	a, isList := after.([]any)
	if !wasList && !isList {
		j.leaf(path, after)
		return
	}
	for i := range max(len(b), len(a)) {
		j.walk(join(path, strconv.Itoa(i)), at(b, i), at(a, i))
	}
	if !isList && after != nil || !wasList && before != nil {
		j.leaf(path, after)
	}
}

// leaf judges a value by the names on the way to it, in a kind that isn't known.
func (j *judged) leaf(path string, after any) {
	if !j.custom() {
		return
	}
	if class := classByName(path); class != "" && !plainlyOff(path, after) {
		j.add(path, class)
	}
}

// custom says that the kind isn't one of Kubernetes's own, whose fields are known.
func (j *judged) custom() bool {
	return strings.Contains(j.kind.Group, ".") && !strings.HasSuffix(j.kind.Group, ".k8s.io")
}

// powerfulNames are the parts of field names that tell power in an unknown kind,
// in lower case.
func powerfulNames() []struct {
	part  string
	class Class
} {
	return []struct {
		part  string
		class Class
	}{
		{"image", ClassImage}, {"container", ClassImage}, {"sidecar", ClassImage},
		{"command", ClassCommand}, {"args", ClassCommand}, {"script", ClassCommand}, {"exec", ClassCommand},
		{"lifecycle", ClassCommand},
		{"env", ClassEnvironment}, {"volume", ClassVolumes}, {"hostpath", ClassVolumes},
		{"serviceaccount", ClassServiceAccount}, {"imagepullsecret", ClassServiceAccount},
		{"securitycontext", ClassSecurityContext}, {"privileged", ClassSecurityContext},
		{"capabilities", ClassSecurityContext},
		{"hostnetwork", ClassHost}, {"hostpid", ClassHost}, {"hostipc", ClassHost}, {"hostport", ClassHost},
		{"nodeselector", ClassScheduling}, {"nodename", ClassScheduling}, {"toleration", ClassScheduling},
		{"priorityclass", ClassScheduling}, {"runtimeclass", ClassScheduling},
	}
}

// classByName is the class of a path of an unknown kind. What people name
// themselves, labels and selectors, tells nothing.
func classByName(path string) Class {
	for token := range strings.SplitSeq(strings.ToLower(path), "/") {
		if token == "labels" || token == "annotations" || token == "matchlabels" {
			return ""
		}
		for _, n := range powerfulNames() {
			if strings.Contains(token, n.part) {
				return n.class
			}
		}
	}
	return ""
}

// plainlyOff says that a switch for more power is turned off.
func plainlyOff(path string, after any) bool {
	if after != nil && after != false {
		return false
	}
	last := strings.ToLower(path[strings.LastIndex(path, "/")+1:])
	return slices.Contains([]string{"privileged", "hostnetwork", "hostpid", "hostipc", "automountserviceaccounttoken"},
		last)
}

func isSecurityContext(path string) bool {
	return strings.HasSuffix(strings.ToLower(path), "securitycontext")
}

// isPodSpec says whether a map has the form of a Pod's spec.
func isPodSpec(m map[string]any) bool {
	for _, key := range containerLists() {
		if list, ok := m[key].([]any); ok && len(list) > 0 {
			if _, isMap := list[0].(map[string]any); isMap {
				return true
			}
		}
	}
	return false
}

func containerLists() []string {
	return []string{"containers", "initContainers", "ephemeralContainers"}
}

func keys(a, b map[string]any) []string {
	all := map[string]bool{}
	for _, m := range []map[string]any{a, b} {
		for key := range m {
			all[key] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

func at(list []any, i int) any {
	if i < len(list) {
		return list[i]
	}
	return nil
}

func join(path, token string) string {
	return path + "/" + strings.ReplaceAll(strings.ReplaceAll(token, "~", "~0"), "/", "~1")
}

func isEqual(a, b any) bool { return reflect.DeepEqual(a, b) }
