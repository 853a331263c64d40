// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// buildPolicy compiles the one policy of a directory, named from the clone's
// top, with Evenkeel's own command, lets change adapt it, and writes it, behind its
// strategy, to a file in the work folder, whose name it returns.
func (d *demo) buildPolicy(ctx context.Context, dir string, change func(*v1alpha1.ClusterRegoPolicy)) (
	name, file string, err error) {
	cmd := exec.CommandContext(ctx, d.programs.Evenkeel, "build", dir)
	cmd.Dir = d.programs.Root
	var problems bytes.Buffer
	cmd.Stderr = &problems
	text, err := cmd.Output()
	if err != nil {
		return "", "", fmt.Errorf("evenkeel build %s: %w: %s", dir, err, problems.String())
	}
	documents := strings.Split(string(text), "\n---\n") // the policy is the last
	var p v1alpha1.ClusterRegoPolicy
	if err := yaml.UnmarshalStrict([]byte(documents[len(documents)-1]), &p); err != nil {
		return "", "", fmt.Errorf("read what evenkeel build %s printed: %w", dir, err)
	}
	change(&p)
	changed, err := yaml.Marshal(&p)
	if err != nil {
		return "", "", fmt.Errorf("write policy %s: %w", p.Name, err)
	}
	documents[len(documents)-1] = string(changed)
	text = []byte(strings.Join(documents, "\n---\n"))
	file = p.Name + ".yaml"
	if err := os.WriteFile(filepath.Join(d.stage.Work(), file), text, 0o600); err != nil {
		return "", "", fmt.Errorf("write policy %s: %w", p.Name, err)
	}
	d.show.Command(fmt.Sprintf("evenkeel build %s > %s", dir, file), "")
	return p.Name, file, nil
}

// The soaks and the deadline of hack/demo/strategy.yaml.
const (
	canarySoak       = 3 * time.Second
	waveSoak         = 2 * time.Second
	progressDeadline = time.Minute
)

func (d *demo) policy(ctx context.Context, name string) (*v1alpha1.ClusterRegoPolicy, error) {
	var p v1alpha1.ClusterRegoPolicy
	if err := d.client.Get(ctx, client.ObjectKey{Name: name}, &p); err != nil {
		return nil, fmt.Errorf("read Policy %s: %w", name, err)
	}
	return &p, nil
}

// scanFinds holds when the policy's complete scan counts so many violating
// objects, by the policy's own status.
func (d *demo) scanFinds(policy string, violating int32) check {
	return func(ctx context.Context) (string, bool, error) {
		p, err := d.policy(ctx, policy)
		if err != nil {
			return "", false, err
		}
		s := p.Status.Scan
		if s == nil || p.Status.ObservedGeneration != p.Generation {
			return "no scan of this generation yet", false, nil
		}
		seen := fmt.Sprintf("%d of %d objects violate, scan %s", s.Violating, s.Scanned, s.State)
		return seen, s.State == v1alpha1.ScanComplete && s.Violating == violating && s.Errors == 0, nil
	}
}
