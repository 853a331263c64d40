// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"fmt"
	"slices"

	"evenkeel.dev/evenkeel/hack/controlplane/internal/kubeapi"
)

const fakeNodeAnnotation = "kwok.x-k8s.io/node"

// node is the part of a Node that is read back.
type node struct {
	Spec struct {
		Taints []struct {
			Key string `json:"key"`
		} `json:"taints"`
	} `json:"spec"`
	Status struct {
		Conditions []struct {
			Type   string `json:"type"`
			Status string `json:"status"`
		} `json:"conditions"`
	} `json:"status"`
}

// schedulable reports whether pods can land on the node: Ready, and rid of the
// taint that every new node carries.
func (n node) schedulable() bool {
	for _, c := range n.Status.Conditions {
		if c.Type == "Ready" {
			return c.Status == "True" && len(n.Spec.Taints) == 0
		}
	}
	return false
}

func readyNodes(ctx context.Context, client *kubeapi.Client, server string) (int, error) {
	var list struct {
		Items []node `json:"items"`
	}
	if err := client.Get(ctx, server+"/api/v1/nodes", &list); err != nil {
		return 0, err
	}
	return len(slices.DeleteFunc(list.Items, func(n node) bool { return !n.schedulable() })), nil
}

// createNodes registers the nodes that KWOK will play.
func (i *Instance) createNodes(ctx context.Context) error {
	client, err := kubeapi.New(i.pki(""), adminUser)
	if err != nil {
		return err
	}
	for n := range i.record.Nodes {
		name := fmt.Sprintf("node-%d", n+1)
		if err := client.Post(ctx, i.Server()+"/api/v1/nodes", fakeNode(name)); err != nil {
			return fmt.Errorf("create node %s: %w", name, err)
		}
	}
	return nil
}

// fakeNode has room for hundreds of pods with generous requests.
func fakeNode(name string) map[string]any {
	room := map[string]string{"cpu": "64", "memory": "256Gi", "pods": "2000", "ephemeral-storage": "1Ti"}
	return map[string]any{
		"apiVersion": "v1",
		"kind":       "Node",
		"metadata": map[string]any{
			"name":        name,
			"annotations": map[string]string{fakeNodeAnnotation: "fake"},
			"labels": map[string]string{
				"kubernetes.io/hostname": name,
				"kubernetes.io/os":       "linux",
				"kubernetes.io/arch":     "amd64",
			},
		},
		"status": map[string]any{"allocatable": room, "capacity": room},
	}
}
