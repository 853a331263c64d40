// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"net"
	"net/http"
	"strconv"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"evenkeel.dev/evenkeel/internal/webhook/certificates"
	"evenkeel.dev/evenkeel/internal/webhook/names"
	"evenkeel.dev/evenkeel/internal/webhook/serving"
)

// serve answers reviews over TLS by the webhook's own server, with the certificate of a directory, until ctx ends.
func serve(ctx context.Context, rules, engine string, port int, dir string) error {
	snapshot, err := policies(ctx, rules, engine)
	if err != nil {
		return err
	}
	h, err := handler(snapshot)
	if err != nil {
		return err
	}
	config, err := certificates.TLSConfig("", logr.Discard())
	if err != nil {
		return err
	}
	if err := certificates.Follow(ctx, config, dir, logr.Discard()); err != nil {
		return err
	}
	server := &serving.Server{
		Address:  net.JoinHostPort("127.0.0.1", strconv.Itoa(port)),
		Handlers: map[string]http.Handler{names.PathIgnore: h},
		TLS:      config,
		Log:      serving.ConnectionLog(logr.Discard()),
		Clock:    clock.RealClock{},
	}
	return server.Start(ctx)
}
