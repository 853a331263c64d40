// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"fmt"
	"slices"
	"strings"
)

// securityContext compares two states of a security context, a Pod's or a
// container's: each field may only move towards more isolation. inherited is the
// Pod's context before, for a container.
func (j *judged) securityContext(path string, before, after, inherited map[string]any) {
	for _, key := range keys(before, after) {
		b, a := before[key], after[key]
		if isEqual(b, a) {
			continue
		}
		if b == nil && inherits(key) {
			b = inherited[key]
		}
		j.unless(moreIsolated(key, b, a), join(path, key), ClassSecurityContext)
	}
}

// inherits says whether a container that leaves a field out has the Pod's.
func inherits(key string) bool {
	return slices.Contains([]string{"runAsUser", "runAsGroup", "runAsNonRoot", "seccompProfile", "appArmorProfile",
		"seLinuxOptions", "windowsOptions"}, key)
}

// moreIsolated says whether a field of a security context is plainly no weaker
// after than before. What can't be compared isn't: fsGroup, seLinuxOptions,
// windowsOptions, and what this version doesn't know.
func moreIsolated(key string, before, after any) bool {
	compare, known := comparisons()[key]
	return known && compare(before, after)
}

// comparisons say for each field whether after is no weaker than before.
func comparisons() map[string]func(before, after any) bool {
	must := func(_, after any) bool { return after == true }
	return map[string]func(before, after any) bool{
		"privileged":               func(_, after any) bool { return after == false || after == nil },
		"allowPrivilegeEscalation": func(_, after any) bool { return after == false },
		"readOnlyRootFilesystem":   orUnsaid(must),
		"runAsNonRoot":             orUnsaid(must),
		"runAsUser":                awayFromRoot,
		"runAsGroup":               awayFromRoot,
		"capabilities":             fewerCapabilities,
		"seccompProfile":           confined,
		"appArmorProfile":          confined,
		"procMount":                func(_, after any) bool { return after == nil || after == "Default" },
		"supplementalGroups":       fewerElements,
		"sysctls":                  fewerElements,
		"supplementalGroupsPolicy": func(_, after any) bool { return after == "Strict" },
		"fsGroupChangePolicy":      func(_, _ any) bool { return true },
	}
}

// orUnsaid also lets a field go that didn't ask for isolation.
func orUnsaid(compare func(before, after any) bool) func(before, after any) bool {
	return func(before, after any) bool { return compare(before, after) || after == nil && before != true }
}

// awayFromRoot lets a user or a group be named where there was none but root.
func awayFromRoot(before, after any) bool {
	return after != nil && !isRoot(after) && (before == nil || isRoot(before))
}

// confined lets the runtime's profile take the place of none.
func confined(before, after any) bool {
	was := asMap(before)["type"]
	return asMap(after)["type"] == "RuntimeDefault" && (was == nil || was == "Unconfined")
}

func fewerElements(before, after any) bool {
	_, isList := after.([]any)
	return (isList || after == nil) && within(asList(after), asList(before))
}

func isRoot(id any) bool {
	switch n := id.(type) {
	case int64:
		return n == 0
	case float64:
		return n == 0
	}
	return id != nil
}

// fewerCapabilities says that nothing is added that wasn't, and that all stays
// dropped that was.
func fewerCapabilities(was, is any) bool {
	before, after := asMap(was), asMap(is)
	if is != nil && after == nil {
		return false
	}
	for key := range after {
		if key != "add" && key != "drop" {
			return false
		}
	}
	dropped := texts(after["drop"])
	stays := slices.Contains(dropped, "ALL") || len(missing(texts(before["drop"]), dropped)) == 0
	return stays && len(missing(texts(after["add"]), texts(before["add"]))) == 0
}

func missing(list, from []string) []string {
	return slices.DeleteFunc(list, func(s string) bool { return slices.Contains(from, s) })
}

func within(list, other []any) bool {
	return !slices.ContainsFunc(list, func(v any) bool {
		return !slices.ContainsFunc(other, func(w any) bool { return isEqual(v, w) })
	})
}

// texts are the elements of a list as upper-case text, without the prefix that
// capabilities may have.
func texts(list any) []string {
	var out []string
	for _, v := range asList(list) {
		out = append(out, strings.TrimPrefix(strings.ToUpper(fmt.Sprint(v)), "CAP_"))
	}
	return out
}
