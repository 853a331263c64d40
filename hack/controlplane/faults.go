// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"fmt"
	"syscall"
	"time"

	"evenkeel.dev/evenkeel/hack/controlplane/internal/process"
)

// faultGrace is how long a component may take after SIGTERM before it's killed.
const faultGrace = 10 * time.Second

// StopComponent sends sig to one component and waits until it's gone. Its data
// and port stay reserved for [Instance.StartComponent].
func (i *Instance) StopComponent(ctx context.Context, c Component, sig syscall.Signal) error {
	release, err := guard(ctx, i.dir)
	if err != nil {
		return err
	}
	defer release()
	return i.stopComponent(ctx, c, sig)
}

// StartComponent starts one component again, with the same port and data, and
// waits until it does its work. It does nothing if the component runs.
func (i *Instance) StartComponent(ctx context.Context, c Component) error {
	release, err := guard(ctx, i.dir)
	if err != nil {
		return err
	}
	defer release()
	return i.startComponent(ctx, c)
}

// RestartComponent is StopComponent, then StartComponent, with nothing between.
func (i *Instance) RestartComponent(ctx context.Context, c Component, sig syscall.Signal) error {
	release, err := guard(ctx, i.dir)
	if err != nil {
		return err
	}
	defer release()
	if err := i.stopComponent(ctx, c, sig); err != nil {
		return err
	}
	return i.startComponent(ctx, c)
}

func (i *Instance) stopComponent(ctx context.Context, c Component, sig syscall.Signal) error {
	found, err := process.Find(i.dir, string(c))
	if err != nil {
		return err
	}
	return process.End(ctx, sig, faultGrace, found...)
}

func (i *Instance) startComponent(ctx context.Context, c Component) error {
	found, err := process.Find(i.dir, string(c))
	if err != nil {
		return err
	}
	if len(found) > 0 {
		return nil
	}
	if err := i.waitPortFree(ctx, c); err != nil {
		return err
	}
	if !i.record.Tied {
		return i.launch(ctx, c)
	}
	if err := askRunner(ctx, i.dir, request{Verb: verbStart, Component: c}); err != nil {
		return fmt.Errorf("start %s: %w", c, err)
	}
	return nil
}

// waitPortFree waits out a process that somebody else has just killed: its
// ports are freed a little later than it disappears.
func (i *Instance) waitPortFree(ctx context.Context, c Component) error {
	ports := []int{i.record.Ports[c]}
	if c == Etcd {
		ports = append(ports, i.record.PeerPort)
	}
	ctx, cancel := context.WithTimeout(ctx, faultGrace)
	defer cancel()
	for _, port := range ports {
		if err := poll(ctx, func() (bool, error) { return isFree(port), nil }); err != nil {
			return fmt.Errorf("port %d of %s is used by another program: bring the instance down and up again", port, c)
		}
	}
	return nil
}
