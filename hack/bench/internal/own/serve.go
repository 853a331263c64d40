// SPDX-License-Identifier: Apache-2.0

package own

import (
	"context"
	"net"
	"net/http"
	"strconv"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"evenkeel.dev/evenkeel/internal/webhook/certificates"
	"evenkeel.dev/evenkeel/internal/webhook/names"
	"evenkeel.dev/evenkeel/internal/webhook/serving"
)

// Served is a webhook that is served at a port of localhost with the certificate of a directory.
type Served struct {
	Port         int
	Certificates string
	// Rules is a file of ConstraintTemplates and constraints.
	Rules string
}

// Serve serves Evenkeel's webhook by its own server until ctx ends.
func Serve(ctx context.Context, s Served) error {
	ctrl.SetLogger(logr.Discard())
	c, _, err := Policies(ctx, s.Rules, "")
	if err != nil {
		return err
	}
	h, err := handler(nil, c.Snapshot())
	if err != nil {
		return err
	}
	config, err := certificates.TLSConfig("", logr.Discard())
	if err != nil {
		return err
	}
	if err := certificates.Follow(ctx, config, s.Certificates, logr.Discard()); err != nil {
		return err
	}
	server := &serving.Server{
		Address:  net.JoinHostPort("127.0.0.1", strconv.Itoa(s.Port)),
		Handlers: map[string]http.Handler{names.PathIgnore: h},
		TLS:      config,
		Log:      serving.ConnectionLog(logr.Discard()),
		Clock:    clock.RealClock{},
	}
	return server.Start(ctx)
}

// ServeNoop serves a webhook of controller-runtime that admits everything until ctx ends. Its cost is the least that
// any webhook of that library has.
func ServeNoop(ctx context.Context, s Served) error {
	ctrl.SetLogger(logr.Discard())
	server := webhook.NewServer(webhook.Options{Host: "127.0.0.1", Port: s.Port, CertDir: s.Certificates})
	server.Register(names.PathIgnore, &admission.Webhook{Handler: admission.HandlerFunc(
		func(context.Context, admission.Request) admission.Response { return admission.Allowed("") })})
	return server.Start(ctx)
}

// CPU is the CPU time that this process has used.
func CPU() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
