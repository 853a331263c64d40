// SPDX-License-Identifier: Apache-2.0

package review

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

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
