// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

func containerLists() []string {
	return []string{"containers", "initContainers", "ephemeralContainers"}
}

// podCode is what the containers of a Pod run, as digests.
type podCode struct {
	all string
	// mounting holds, for each volume, what the containers run that mount it.
	mounting map[string]string
}

func codeOf(pod map[string]any) *podCode {
	all, mounting := map[string]any{}, map[string]map[string]any{}
	for _, list := range containerLists() {
		containers, _ := pod[list].([]any)
		for i, element := range containers {
			container, _ := element.(map[string]any)
			key := fmt.Sprintf("%s/%v", list, container["name"])
			if _, taken := all[key]; taken || container["name"] == nil {
				key = fmt.Sprintf("%s#%d", key, i)
			}
			code := digest(runs(container))
			all[key] = []byte(code)
			for _, volume := range mounted(container) {
				if mounting[volume] == nil {
					mounting[volume] = map[string]any{}
				}
				mounting[volume][key] = []byte(code)
			}
		}
	}
	code := &podCode{all: digest(all), mounting: make(map[string]string, len(mounting))}
	for volume, containers := range mounting {
		code.mounting[volume] = digest(containers)
	}
	return code
}

// runs is what of a container says what it runs: all but how much it may use, and
// how it is confined, which policies judge by itself.
func runs(container map[string]any) map[string]any {
	code := maps.Clone(container)
	for _, field := range []string{"resources", "resizePolicy", "securityContext"} {
		delete(code, field)
	}
	return code
}

func mounted(container map[string]any) []string {
	var names []string
	for _, list := range []string{"volumeMounts", "volumeDevices"} {
		mounts, _ := container[list].([]any)
		for _, element := range mounts {
			mount, _ := element.(map[string]any)
			if name, ok := mount["name"].(string); ok {
				names = append(names, name)
			}
		}
	}
	return names
}

// withoutResources leaves out how much the containers may use, of a value that is
// the spec of a Pod, or one container: a Pod may be resized.
func withoutResources(value any) any {
	fields, ok := value.(map[string]any)
	if !ok {
		return value
	}
	out := maps.Clone(fields)
	if _, isContainer := out["image"]; isContainer {
		delete(out, "resources")
		delete(out, "resizePolicy")
	}
	for _, list := range containerLists() {
		containers, ok := out[list].([]any)
		if !ok {
			continue
		}
		kept := map[string]any{}
		for i, container := range containers {
			fields, _ := container.(map[string]any)
			key := fmt.Sprintf("%v", fields["name"])
			if _, taken := kept[key]; taken || fields["name"] == nil {
				key = fmt.Sprintf("%s#%d", key, i)
			}
			kept[key] = withoutResources(container)
		}
		out[list] = kept
	}
	return out
}

func containerNames(pod any) string {
	fields, _ := pod.(map[string]any)
	var names []string
	for _, list := range containerLists() {
		containers, _ := fields[list].(map[string]any)
		for name := range containers {
			names = append(names, list+"/"+name)
		}
	}
	slices.Sort(names)
	return strings.Join(names, ",")
}
