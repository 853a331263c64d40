// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"fmt"
	"slices"
	"strconv"
)

// rule judges one field of a Pod's spec or of a container. context is the Pod's
// security context before.
type rule func(j *judged, path string, before, after any, context map[string]any)

// off is the rule of a switch of the host's namespaces, which may only be turned off.
func off(j *judged, path string, _, after any, _ map[string]any) {
	j.unless(after == nil || after == false, path, ClassHost)
}

// only is the rule of a field that may be set to one value.
func only(value any, class Class) rule {
	return func(j *judged, path string, _, after any, _ map[string]any) { j.unless(after == value, path, class) }
}

func isolation(j *judged, path string, before, after any, context map[string]any) {
	j.securityContext(path, asMap(before), asMap(after), context)
}

// podRules are the fields of a Pod's spec with a rule of their own.
func podRules() map[string]rule {
	return map[string]rule{
		"containers": (*judged).containers, "initContainers": (*judged).containers,
		"ephemeralContainers": (*judged).containers,
		"securityContext": func(j *judged, path string, before, after any, _ map[string]any) {
			isolation(j, path, before, after, nil)
		},
		"hostNetwork": off, "hostPID": off, "hostIPC": off, "shareProcessNamespace": off,
		"hostUsers":                    only(false, ClassHost),
		"automountServiceAccountToken": only(false, ClassServiceAccount),
		"enableServiceLinks":           only(false, ClassEnvironment),
		"affinity":                     (*judged).affinity,
	}
}

func containerRules() map[string]rule {
	return map[string]rule{
		"securityContext": isolation,
		"imagePullPolicy": only("Always", ClassImage),
		"volumeMounts": func(j *judged, path string, before, after any, _ map[string]any) {
			j.unless(onlyReadOnly(before, after), path, ClassVolumes)
		},
		"ports": func(j *judged, path string, before, after any, _ map[string]any) {
			j.unless(!opensHostPort(before, after), path, ClassHost)
		},
		"resources": func(j *judged, path string, before, after any, _ map[string]any) {
			j.unless(isEqual(asMap(before)["claims"], asMap(after)["claims"]), join(path, "claims"), ClassVolumes)
		},
		"livenessProbe": (*judged).probe, "readinessProbe": (*judged).probe, "startupProbe": (*judged).probe,
		"lifecycle": (*judged).lifecycle,
	}
}

func (j *judged) podSpec(path string, before, after map[string]any) {
	j.fields(path, before, after, asMap(before["securityContext"]), podRules(), podFields())
}

// fields compares two states of a Pod's spec or of a container, field by field. What
// isn't known to be harmless has a class.
func (j *judged) fields(path string, before, after, context map[string]any, rules map[string]rule,
	classes map[string]Class) {
	for _, key := range keys(before, after) {
		b, a, path := before[key], after[key], join(path, key)
		if isEqual(b, a) || j.malformed(path, key, a) || b == nil && isDefault(key, a) {
			continue
		}
		class, known := classes[key]
		if judge, special := rules[key]; special {
			judge(j, path, b, a, context)
		} else if known {
			j.add(path, class)
		} else {
			j.add(path, ClassOther)
		}
	}
}

func isDefault(key string, value any) bool {
	defaults := map[string]any{"dnsPolicy": "ClusterFirst", "schedulerName": "default-scheduler",
		"terminationMessagePath": "/dev/termination-log", "imagePullPolicy": "IfNotPresent"}
	return value != nil && value == defaults[key]
}

// malformed says that what should be an object or a list is something else, which
// can't be judged.
func (j *judged) malformed(path, key string, value any) bool {
	var ok bool
	switch key {
	case "securityContext", "affinity", "resources", "lifecycle", "livenessProbe", "readinessProbe", "startupProbe":
		_, ok = value.(map[string]any)
	case "ports", "volumeMounts":
		_, ok = value.([]any)
	default:
		ok = true
	}
	if ok || value == nil {
		return false
	}
	j.add(path, ClassOther)
	return true
}

func (j *judged) unless(harmless bool, path string, class Class) {
	if !harmless {
		j.add(path, class)
	}
}

// affinity lets Pods keep away from each other; what draws them somewhere doesn't pass.
func (j *judged) affinity(path string, was, is any, _ map[string]any) {
	before, after := asMap(was), asMap(is)
	for _, key := range keys(before, after) {
		if key != "podAntiAffinity" && !isEqual(before[key], after[key]) {
			j.add(join(path, key), ClassScheduling)
		}
	}
}

// containers compares lists of containers by their names. context is the Pod's
// security context before.
func (j *judged) containers(path string, before, after any, context map[string]any) {
	was, order, named := byName(before)
	is, now, stillNamed := byName(after)
	if !named || !stillNamed {
		j.add(path, ClassImage)
		return
	}
	for i, name := range now {
		at := join(path, strconv.Itoa(i))
		if _, there := was[name]; !there {
			j.add(at, ClassImage)
		}
		j.container(at, was[name], is[name], context)
	}
	gone := func(name string) bool { return is[name] == nil }
	fresh := func(name string) bool { return was[name] == nil }
	if slices.ContainsFunc(order, gone) || !slices.Equal(order, slices.DeleteFunc(slices.Clone(now), fresh)) {
		j.add(path, ClassImage) // one is gone, or they begin in another order
	}
}

// byName are the containers of a list by their names, and the names in order;
// false when a name is missing or comes twice.
func byName(list any) (map[string]map[string]any, []string, bool) {
	all, order := map[string]map[string]any{}, []string(nil)
	elements, isList := list.([]any)
	if !isList && list != nil {
		return nil, nil, false
	}
	for _, element := range elements {
		c, _ := element.(map[string]any)
		name, ok := c["name"].(string)
		if !ok || all[name] != nil {
			return nil, nil, false
		}
		all[name], order = c, append(order, name)
	}
	return all, order, true
}

func (j *judged) container(path string, before, after, context map[string]any) {
	j.fields(path, before, after, context, containerRules(), containerFields())
}

// probe lets a fix say how often and where in its own Pod a container is probed.
func (j *judged) probe(path string, was, is any, _ map[string]any) {
	before, after := asMap(was), asMap(is)
	j.unless(isEqual(before["exec"], after["exec"]), join(path, "exec"), ClassCommand)
	for handler, fields := range map[string][]string{"httpGet": {"host", "httpHeaders"}, "tcpSocket": {"host"}} {
		for _, field := range fields {
			b, a := asMap(before[handler])[field], asMap(after[handler])[field]
			j.unless(a == nil || isEqual(b, a), join(join(path, handler), field), ClassNetwork)
		}
	}
}

// lifecycle lets a container wait before it stops, and nothing else.
func (j *judged) lifecycle(path string, was, is any, _ map[string]any) {
	before, after := asMap(was), asMap(is)
	for _, hook := range keys(before, after) {
		b, a := asMap(before[hook]), asMap(after[hook])
		for _, key := range keys(b, a) {
			if (hook != "preStop" || key != "sleep") && hook != "stopSignal" && !isEqual(b[key], a[key]) {
				j.add(join(join(path, hook), key), ClassCommand)
			}
		}
	}
}

// onlyReadOnly says that mounts stay as they are, but that some can't be written
// any more.
func onlyReadOnly(before, after any) bool {
	b, a := asList(before), asList(after)
	if len(b) != len(a) {
		return false
	}
	for i := range b {
		was, is := asMap(b[i]), asMap(a[i])
		for _, key := range keys(was, is) {
			if !isEqual(was[key], is[key]) && (key != "readOnly" || is[key] != true) {
				return false
			}
		}
	}
	return true
}

func opensHostPort(before, after any) bool {
	open := func(list any) []string {
		var out []string
		for _, element := range asList(list) {
			p := asMap(element)
			if p["hostPort"] != nil || p["hostIP"] != nil {
				out = append(out, fmt.Sprint(p["hostIP"], p["hostPort"], p["protocol"]))
			}
		}
		return out
	}
	return len(missing(open(after), open(before))) > 0
}

func asMap(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}

func asList(v any) []any {
	l, _ := v.([]any)
	return l
}
