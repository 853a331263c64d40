// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// buildPolicy compiles the one policy of a directory, named from the clone's
// top, with Evenkeel's own command, lets change adapt it, and writes it to a
// file in the work folder, whose name it returns.
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
	var p v1alpha1.ClusterRegoPolicy
	if err := yaml.UnmarshalStrict(text, &p); err != nil {
		return "", "", fmt.Errorf("read what evenkeel build %s printed: %w", dir, err)
	}
	change(&p)
	if text, err = yaml.Marshal(&p); err != nil {
		return "", "", fmt.Errorf("write policy %s: %w", p.Name, err)
	}
	file = p.Name + ".yaml"
	if err := os.WriteFile(filepath.Join(d.stage.Work(), file), text, 0o600); err != nil {
		return "", "", fmt.Errorf("write policy %s: %w", p.Name, err)
	}
	d.show.Command(fmt.Sprintf("evenkeel build %s > %s", dir, file), "")
	return p.Name, file, nil
}

// demoStrategy is as careful as the default, in a hurry.
func demoStrategy(mode v1alpha1.RemediationMode) v1alpha1.RolloutStrategy {
	strategy := v1alpha1.RolloutStrategy{
		Mode: mode, RemediationStrategySpec: v1alpha1.RemediationStrategySpec{
			Canary: v1alpha1.CanaryStrategy{
				Size: ptr.To(intstr.FromInt32(1)), Soak: &metav1.Duration{Duration: canarySoak}},
			Waves: []intstr.IntOrString{intstr.FromString("5%"), intstr.FromString("25%"),
				intstr.FromString("100%")},
			MaxInFlight:      25,
			Soak:             &metav1.Duration{Duration: waveSoak},
			ProgressDeadline: metav1.Duration{Duration: progressDeadline},
		},
	}
	strategy.SetDefaults()
	return strategy
}

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
