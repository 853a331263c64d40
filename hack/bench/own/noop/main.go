// SPDX-License-Identifier: Apache-2.0

// Command noop serves an admission webhook of controller-runtime that admits everything, to be measured beside
// Evenkeel's: what it takes is what any webhook of that library takes at least.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

func main() {
	port := flag.Int("serve", 0, "the port of the loopback address")
	certificates := flag.String("certificates", "", "the directory of tls.crt and tls.key")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := serve(ctx, *port, *certificates); err != nil {
		fmt.Fprintln(os.Stderr, "noop:", err)
		os.Exit(2)
	}
}

// serve admits whatever is asked, over TLS, until ctx ends.
func serve(ctx context.Context, port int, certificates string) error {
	ctrl.SetLogger(logr.Discard())
	server := webhook.NewServer(webhook.Options{Host: "127.0.0.1", Port: port, CertDir: certificates})
	server.Register("/validate/ignore", &admission.Webhook{Handler: admission.HandlerFunc(
		func(context.Context, admission.Request) admission.Response { return admission.Allowed("") })})
	return server.Start(ctx)
}
