// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"strings"

	"evenkeel.dev/evenkeel/hack/controlplane/internal/process"
)

// State is what a component is doing.
type State string

// The states of a component.
const (
	// StateReady means that it runs and says that it does its work.
	StateReady State = "ready"
	// StateUnhealthy means that it runs but doesn't say so.
	StateUnhealthy State = "unhealthy"
	// StateStopped means that no process of it runs.
	StateStopped State = "stopped"
)

// Status is the state of an instance at one moment.
type Status struct {
	Dir        string            `json:"dir"`
	Kubeconfig string            `json:"kubeconfig"`
	Kubectl    string            `json:"kubectl"`
	Server     string            `json:"server"`
	Ready      bool              `json:"ready"`
	Components []ComponentStatus `json:"components"`
}

// ComponentStatus is the state of one component. PID is 0 if none runs.
type ComponentStatus struct {
	Name   Component `json:"name"`
	PID    int       `json:"pid"`
	State  State     `json:"state"`
	Port   int       `json:"port"`
	Reason string    `json:"reason,omitempty"`
}

// Status looks for the processes and asks each for its health.
func (i *Instance) Status(ctx context.Context) (Status, error) {
	running, err := process.Find(i.dir, programNames()...)
	if err != nil {
		return Status{}, err
	}
	pids := map[Component]int{}
	for _, p := range running {
		pids[Component(p.Name)] = p.PID
	}
	status := Status{Dir: i.dir, Kubeconfig: i.Kubeconfig(), Kubectl: i.Kubectl(), Server: i.Server(), Ready: true}
	for _, c := range Components() {
		one := ComponentStatus{Name: c, PID: pids[c], State: StateStopped, Port: i.record.Ports[c]}
		if one.PID != 0 {
			one.State = StateReady
			if err := i.probe(ctx, c); err != nil {
				one.State, one.Reason = StateUnhealthy, shortReason(err)
			}
		}
		status.Ready = status.Ready && one.State == StateReady
		status.Components = append(status.Components, one)
	}
	return status, nil
}

// shortReason keeps only the failing checks of a health report, which lists
// the passing ones too, and puts them on one line.
func shortReason(err error) string {
	var failing []string
	for line := range strings.Lines(err.Error()) {
		if strings.HasPrefix(line, "[-]") {
			failing = append(failing, strings.TrimSpace(strings.TrimPrefix(line, "[-]")))
		}
	}
	if len(failing) == 0 {
		return strings.Join(strings.Fields(err.Error()), " ")
	}
	return strings.Join(failing, "; ")
}
