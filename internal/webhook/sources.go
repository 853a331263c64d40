// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"evenkeel.dev/evenkeel/internal/webhook/names"
)

// theOne is the request of controllers that have one thing to look after.
func theOne() reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Name: names.Configuration}}
}

func (s *setup) watch(object client.Object) source.Source {
	return source.Kind(s.cache, object, toTheOne(func() {}))
}

// sources ask for a look at what the certificate and the configurations both stand on, and
// for the first look.
func (s *setup) sources() []source.Source {
	return []source.Source{
		s.watch(&corev1.Secret{}),
		s.watch(&admissionregistrationv1.ValidatingWebhookConfiguration{}),
		s.watch(&admissionregistrationv1.MutatingWebhookConfiguration{}),
		once(),
	}
}

func (s *setup) definitions() source.Source {
	definition := &metav1.PartialObjectMetadata{}
	definition.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
	return source.Kind[client.Object](s.kindCache, definition, toTheOne(s.kinds.Reset))
}

func toTheOne(before func()) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []reconcile.Request {
		before()
		return []reconcile.Request{theOne()}
	})
}

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

func changes(signal <-chan struct{}) source.Source {
	return source.Func(func(ctx context.Context, q queue) error {
		go func() {
			for {
				select {
				case <-ctx.Done():
					return
				case <-signal:
					q.Add(theOne())
				}
			}
		}()
		return nil
	})
}

// once asks for a first look, when there may be nothing yet to see change.
func once() source.Source {
	return source.Func(func(_ context.Context, q queue) error {
		q.Add(theOne())
		return nil
	})
}
