// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// readyWithin bounds how long a program may take until it serves, and readyPoll is how often it is asked.
const (
	readyWithin = 60 * time.Second
	readyPoll   = 20 * time.Millisecond
)

// child is a program that runs beside this one until its context ends.
type child struct {
	name  string
	pid   int
	log   string
	ended chan struct{}
}

// startChild starts a program, whose output goes to a file.
func startChild(ctx context.Context, name, log string, env, command []string) (*child, error) {
	file, err := os.Create(log)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdout, cmd.Stderr = file, file
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	c := &child{name: name, pid: cmd.Process.Pid, log: log, ended: make(chan struct{})}
	go func() {
		_ = cmd.Wait() // how it ended stands in its log
		close(c.ended)
	}()
	return c, nil
}

// awaitReady waits until the program is ready. It errs with the end of its log when it ends.
func (c *child) awaitReady(ctx context.Context, ready func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	tick := time.NewTicker(readyPoll)
	defer tick.Stop()
	for {
		err := ready(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-c.ended:
			return fmt.Errorf("%s has ended: %s", c.name, c.lastWords())
		case <-ctx.Done():
			return fmt.Errorf("%s isn't ready after %s: %w\n%s", c.name, readyWithin, err, c.lastWords())
		case <-tick.C:
		}
	}
}

func (c *child) lastWords() string {
	const most = 3000
	text, err := os.ReadFile(c.log)
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-most):])
}

// awaitReadyz waits until the program answers that it is ready, at a port of the loopback address.
func (c *child) awaitReadyz(ctx context.Context, port int) error {
	url := fmt.Sprintf("http://127.0.0.1:%d/readyz", port)
	return c.awaitReady(ctx, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return err
		}
		if response.StatusCode != http.StatusOK {
			err = fmt.Errorf("%s answers %s", url, response.Status)
		}
		return errors.Join(err, response.Body.Close())
	})
}

func freePorts(count int) (ports []int, err error) {
	for range count {
		port, err := freePort()
		if err != nil {
			return nil, err
		}
		ports = append(ports, port)
	}
	return ports, nil
}

// freePort is a port of the loopback address that nobody listens on now.
func freePort() (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	address, is := listener.Addr().(*net.TCPAddr)
	if !is {
		return 0, errors.Join(fmt.Errorf("%s has no port", listener.Addr()), listener.Close())
	}
	return address.Port, listener.Close()
}

// writeCertificate makes a certificate of localhost that vouches for itself, with its key, as tls.crt and tls.key in a
// directory.
func writeCertificate(dir string) (*x509.CertPool, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	form := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"localhost"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour), IsCA: true,
		BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	certificate, err := x509.CreateCertificate(rand.Reader, form, form, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	public := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate})
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(public)
	return pool, errors.Join(os.WriteFile(filepath.Join(dir, "tls.crt"), public, 0o600),
		os.WriteFile(filepath.Join(dir, "tls.key"),
			pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), 0o600))
}

// speaksTLS says whether something that an authority vouches for answers at a port of localhost.
func speaksTLS(ctx context.Context, port int, authority *x509.CertPool) error {
	dialer := tls.Dialer{Config: &tls.Config{RootCAs: authority}}
	connection, err := dialer.DialContext(ctx, "tcp", fmt.Sprintf("localhost:%d", port))
	if err != nil {
		return err
	}
	return connection.Close()
}
