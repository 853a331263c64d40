// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	clocktesting "k8s.io/utils/clock/testing"

	"evenkeel.dev/evenkeel/internal/policy/catalog"
)

func TestOptions(t *testing.T) {
	good := Options{
		Catalog:    catalog.New(catalog.Options{}),
		Namespace:  "evenkeel-system",
		CertDir:    "/certs",
		Registerer: prometheus.NewRegistry(),
		Clock:      clocktesting.NewFakeClock(time.Unix(0, 0)),
	}
	if err := good.Validate(); err != nil {
		t.Errorf("good options are refused: %v", err)
	}
	if diff := cmp.Diff([]string{"kube-system", "kube-node-lease", "evenkeel-system"},
		good.withDefaults().exempt()); diff != "" {
		t.Errorf("exempt by default (-want +got)\n%s", diff)
	}
	cases := map[string]struct {
		change func(*Options)
		want   string
	}{
		"no catalog":   {func(o *Options) { o.Catalog = nil }, "catalog"},
		"no namespace": {func(o *Options) { o.Namespace = "" }, "namespace"},
		"no directory": {func(o *Options) { o.CertDir = "" }, "directory"},
		"a timeout of half a second": {func(o *Options) {
			o.Timeout = 500 * time.Millisecond
		}, "whole seconds from 1s to 30s"},
		"a timeout over the API's most": {func(o *Options) {
			o.Timeout = 31 * time.Second
		}, "whole seconds from 1s to 30s"},
		"a URL that can't be served": {func(o *Options) { o.URLBase = "https://10.0.0.1" }, "name the host"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o := good
			tc.change(&o)
			if err := o.Validate(); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("want an error with %q, got %v", tc.want, err)
			}
		})
	}
}
