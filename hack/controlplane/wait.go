// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"errors"
	"fmt"
	"time"

	"evenkeel.dev/evenkeel/hack/controlplane/internal/kubeapi"
)

const pollEvery = 100 * time.Millisecond

// poll calls check until it says so or fails, or ctx ends.
func poll(ctx context.Context, check func() (bool, error)) error {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		done, err := check()
		if done || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// probe asks a component for its health. Only etcd and the API server get a
// client certificate: the others let nobody in, but answer everybody here.
func (i *Instance) probe(ctx context.Context, c Component) error {
	scheme, user := "https", ""
	switch c {
	case Etcd, APIServer:
		user = adminUser
	case KWOK:
		scheme = "http"
	case ControllerManager, Scheduler:
	}
	client, err := kubeapi.New(i.pki(""), user)
	if err != nil {
		return err
	}
	return client.Get(ctx, loopback(scheme, i.record.Ports[c])+c.healthPath(), nil)
}

// waitUsable waits until pods can be created and scheduled.
func (i *Instance) waitUsable(ctx context.Context) error {
	client, err := kubeapi.New(i.pki(""), adminUser)
	if err != nil {
		return err
	}
	last := errors.New("not asked yet")
	err = poll(ctx, func() (bool, error) {
		last = i.checkUsable(ctx, client)
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("the cluster isn't usable: %w: see the logs in %s/logs", last, i.dir)
	}
	return nil
}

func (i *Instance) checkUsable(ctx context.Context, client *kubeapi.Client) error {
	ready, err := readyNodes(ctx, client, i.Server())
	if err != nil {
		return err
	}
	if ready < i.record.Nodes {
		return fmt.Errorf("%d of %d nodes are ready", ready, i.record.Nodes)
	}
	return client.Get(ctx, i.Server()+"/api/v1/namespaces/default/serviceaccounts/default", nil)
}
