// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

const evidenceLimit = 15 * time.Second

// saveEvidence copies into the work folder what stopping would remove.
func (c *Cluster) saveEvidence(ctx context.Context) (string, error) {
	if c.plane == nil || c.plane.dir == "" {
		return c.work, nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), evidenceLimit)
	defer cancel()
	logs := filepath.Join(c.work, "logs")
	var errs []error
	if err := os.CopyFS(logs, os.DirFS(filepath.Join(c.plane.dir, "logs"))); err != nil {
		errs = append(errs, fmt.Errorf("keep the control plane's logs: %w", err))
	}
	for file, args := range map[string][]string{
		"evenkeel.yaml": {"get",
			"clusterregopolicies,remediations,remediationslices,remediationbreakers", "-o",
			"yaml"},
		"deployments.yaml": {"get", "deployments", "-A", "-o", "yaml", "--show-managed-fields"},
		"events.yaml":      {"get", "events.events.k8s.io", "-A", "-o", "yaml"},
		"webhooks.yaml":    {"get", "validatingwebhookconfigurations,mutatingwebhookconfigurations", "-o", "yaml"},
	} {
		text, _, err := c.Kubectl(ctx, args...)
		if err == nil {
			err = os.WriteFile(filepath.Join(c.work, file), []byte(text), 0o600)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("keep %s: %w", file, err))
		}
	}
	return c.work, errors.Join(errs...)
}
