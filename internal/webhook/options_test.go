package webhook

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

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
	if diff := cmp.Diff([]string{"kube-system", "kube-node-lease", "evenkeel-system"}, good.withDefaults().exempt()); diff != "" {
		t.Errorf("exempt by default (-want +got)\n%s", diff)
	}
	cases := map[string]struct {
		change func(*Options)
		want   string
	}{
		"no catalog":                    {func(o *Options) { o.Catalog = nil }, "catalog"},
		"no namespace":                  {func(o *Options) { o.Namespace = "" }, "namespace"},
		"no directory":                  {func(o *Options) { o.CertDir = "" }, "directory"},
		"a timeout of half a second":    {func(o *Options) { o.Timeout = 500 * time.Millisecond }, "whole seconds from 1s to 30s"},
		"a timeout over the API's most": {func(o *Options) { o.Timeout = 31 * time.Second }, "whole seconds from 1s to 30s"},
		"a URL that can't be served":    {func(o *Options) { o.URLBase = "https://10.0.0.1" }, "name the host"},
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

func TestCachedNamespaces(t *testing.T) {
	namespace := func(name string) client.Object { return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}} }
	reader := func(objects ...client.Object) client.Client {
		return fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(objects...).Build()
	}
	down := errors.New("the server is down")
	broken := interceptor.NewClient(fake.NewClientBuilder().Build(), interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return down
		},
	})
	cases := map[string]struct {
		cached, live client.Reader
		wantKnown    bool
		wantErr      error
	}{
		"from the cache, without a call":         {cached: reader(namespace("shop")), live: broken, wantKnown: true},
		"one made a moment ago, from the server": {cached: reader(), live: reader(namespace("shop")), wantKnown: true},
		"one that doesn't exist is nil":          {cached: reader(), live: reader()},
		"one that can't be read is an error":     {cached: reader(), live: broken, wantErr: down},
		"a cache that can't be read is one, too": {cached: broken, live: reader(), wantErr: down},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := NewCachedNamespaces(tc.cached, tc.live).Get(context.Background(), "shop")
			if (got != nil) != tc.wantKnown || !errors.Is(err, tc.wantErr) {
				t.Errorf("got %v, %v", got, err)
			}
		})
	}
}
