// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"fmt"
	"slices"
	"strings"
)

// Component is one of the programs that make up a control plane.
type Component string

// The components, each named as its program.
const (
	Etcd              Component = "etcd"
	APIServer         Component = "kube-apiserver"
	ControllerManager Component = "kube-controller-manager"
	Scheduler         Component = "kube-scheduler"
	KWOK              Component = "kwok"
)

// Components lists all of them in the order in which they start.
func Components() []Component {
	return []Component{Etcd, APIServer, ControllerManager, Scheduler, KWOK}
}

// ParseComponent checks a name that a person typed.
func ParseComponent(name string) (Component, error) {
	if slices.Contains(Components(), Component(name)) {
		return Component(name), nil
	}
	return "", fmt.Errorf("unknown component %q: use one of %s", name, strings.Join(programNames(), ", "))
}

func programNames() []string {
	names := make([]string, 0, len(Components()))
	for _, c := range Components() {
		names = append(names, string(c))
	}
	return names
}

// healthPath is the endpoint that tells whether a component does its work.
// KWOK's and the controller manager's say only that the process serves.
func (c Component) healthPath() string {
	switch c {
	case Etcd:
		return "/health"
	case APIServer, Scheduler:
		return "/readyz"
	case ControllerManager, KWOK:
		return "/healthz"
	}
	return "/"
}
