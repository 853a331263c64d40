// SPDX-License-Identifier: Apache-2.0

package configuration

import (
	"context"
	"fmt"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/internal/webhook/names"
)

// configurations are the webhook configurations as they are in the cluster; one
// that isn't there has no resourceVersion.
type configurations struct {
	validating admissionregistrationv1.ValidatingWebhookConfiguration
	mutating   admissionregistrationv1.MutatingWebhookConfiguration
}

func readConfigurations(ctx context.Context, reader client.Reader) (*configurations, error) {
	var c configurations
	key := types.NamespacedName{Name: names.Configuration}
	for _, config := range []client.Object{&c.validating, &c.mutating} {
		if err := reader.Get(ctx, key, config); client.IgnoreNotFound(err) != nil {
			return nil, fmt.Errorf("reading the webhook configuration: %w", err)
		}
	}
	return &c, nil
}

// Trusted are the bundles by which the API server trusts the webhook now, read anew.
func Trusted(ctx context.Context, reader client.Reader) ([][]byte, error) {
	found, err := readConfigurations(ctx, reader)
	if err != nil {
		return nil, err
	}
	return found.trusted(), nil
}

// trusted are the bundles by which the API server trusts the webhook now: one for
// each configuration that has any.
func (c *configurations) trusted() [][]byte {
	var validating, mutating [][]byte
	for i := range c.validating.Webhooks {
		validating = append(validating, c.validating.Webhooks[i].ClientConfig.CABundle)
	}
	for i := range c.mutating.Webhooks {
		mutating = append(mutating, c.mutating.Webhooks[i].ClientConfig.CABundle)
	}
	var out [][]byte
	for _, bundles := range [][][]byte{validating, mutating} {
		if i := slices.IndexFunc(bundles, func(b []byte) bool { return len(b) > 0 }); i >= 0 {
			out = append(out, bundles[i])
		}
	}
	return out
}
