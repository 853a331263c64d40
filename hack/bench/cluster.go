// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// cluster is a control plane in processes of its own, as hack/controlplane starts it.
type cluster struct {
	// Kubeconfig, Kubectl and Dir are paths; WebhookClientCA is that of the authority of the API server's client
	// certificate.
	Kubeconfig, Kubectl, Dir, WebhookClientCA string

	stop func() error
	// server is the process of the API server.
	server int
	access access
}

// access is what an administrator's kubeconfig says of the API server and of who asks.
type access struct {
	Clusters []struct {
		Cluster struct {
			Server    string
			Authority []byte `json:"certificate-authority-data"`
		}
	}
	Users []struct {
		User struct {
			Certificate []byte `json:"client-certificate-data"`
			Key         []byte `json:"client-key-data"`
		}
	}
}

// startCluster builds the command that runs control planes and starts one in dir. It ends with this process, however
// that ends.
func startCluster(ctx context.Context, here, program, dir string) (*cluster, error) {
	if err := goBuild(ctx, filepath.Join(here, "..", "controlplane"), program, "./cmd/controlplane"); err != nil {
		return nil, err
	}
	cmd := exec.Command(program, "run", "--dir", dir, "--nodes", "1")
	cmd.Dir, cmd.Stderr = here, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // an interrupt of the terminal reaches only this process
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the control plane: %w", err)
	}
	c := &cluster{stop: func() error { return errors.Join(in.Close(), cmd.Wait()) }}
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, c)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the control plane didn't start: %w", err), c.stop())
	}
	if err := c.look(ctx); err != nil {
		return nil, errors.Join(err, c.stop())
	}
	return c, nil
}

// look finds out how the API server is reached, and which process it is.
func (c *cluster) look(ctx context.Context) error {
	text, err := c.kubectl(ctx, nil, "config", "view", "--raw", "--flatten", "-o", "json")
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, &c.access); err != nil {
		return err
	}
	if len(c.access.Clusters) != 1 || len(c.access.Users) != 1 {
		return fmt.Errorf("%s names %d clusters and %d users: one of each is expected", c.Kubeconfig,
			len(c.access.Clusters), len(c.access.Users))
	}
	c.server, err = processOf("kube-apiserver", c.Dir)
	return err
}

// processOf is the process of a program some of whose arguments lie in a directory.
func processOf(program, dir string) (int, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return 0, err
	}
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		text, err := os.ReadFile(filepath.Join("/proc", entry.Name(), "cmdline"))
		command, arguments, _ := bytes.Cut(text, []byte{0})
		if err == nil && filepath.Base(string(command)) == program && bytes.Contains(arguments, []byte(dir+"/")) {
			return pid, nil
		}
	}
	return 0, fmt.Errorf("no process %s of %s runs", program, dir)
}

// kubectl runs kubectl as an administrator.
func (c *cluster) kubectl(ctx context.Context, stdin []byte, arguments ...string) ([]byte, error) {
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, c.Kubectl, append([]string{"--kubeconfig", c.Kubeconfig}, arguments...)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(stdin), &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("kubectl %s: %w\n%s", strings.Join(arguments, " "), err, stderr.String())
	}
	return stdout.Bytes(), nil
}

// failedOpen is how many requests the API server has admitted because a webhook didn't answer.
func (c *cluster) failedOpen(ctx context.Context) (float64, error) {
	metrics, err := c.kubectl(ctx, nil, "get", "--raw", "/metrics")
	if err != nil {
		return 0, err
	}
	return sumOf(string(metrics), "apiserver_admission_webhook_fail_open_count")
}

// sumOf is the sum of a counter's series, in the text that Prometheus reads.
func sumOf(metrics, counter string) (sum float64, err error) {
	for line := range strings.Lines(metrics) {
		series, value, found := strings.Cut(strings.TrimSpace(line), "} ")
		if !found || !strings.HasPrefix(series, counter+"{") {
			continue
		}
		n, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return 0, fmt.Errorf("read the metric %s: %w", counter, err)
		}
		sum += n
	}
	return sum, nil
}

// apply applies objects as an administrator.
func (c *cluster) apply(ctx context.Context, objects ...map[string]any) error {
	text, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": objects})
	if err != nil {
		return err
	}
	_, err = c.kubectl(ctx, text, "apply", "--server-side", "-f", "-")
	return err
}

// kubeconfigOf writes a kubeconfig by which an administrator acts as somebody else.
func (c *cluster) kubeconfigOf(ctx context.Context, file, user string, groups ...string) error {
	text, err := c.kubectl(ctx, nil, "config", "view", "--raw", "--flatten", "-o", "json")
	if err != nil {
		return err
	}
	text, err = actingAs(text, user, groups)
	if err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o600)
}

func actingAs(kubeconfig []byte, user string, groups []string) ([]byte, error) {
	var config map[string]any
	if err := json.Unmarshal(kubeconfig, &config); err != nil {
		return nil, err
	}
	users, _ := config["users"].([]any)
	for _, u := range users {
		entry, _ := u.(map[string]any)
		if who, is := entry["user"].(map[string]any); is {
			who["as"], who["as-groups"] = user, groups
		}
	}
	return json.Marshal(config)
}

// podsOf are requests to make Pods in a namespace, which are only tried, over a connection of their own.
func (c *cluster) podsOf(namespace string) (*poster, error) {
	pair, err := tls.X509KeyPair(c.access.Users[0].User.Certificate, c.access.Users[0].User.Key)
	if err != nil {
		return nil, err
	}
	authority := x509.NewCertPool()
	authority.AppendCertsFromPEM(c.access.Clusters[0].Cluster.Authority)
	client := newPoster(fmt.Sprintf("%s/api/v1/namespaces/%s/pods?dryRun=All", c.access.Clusters[0].Cluster.Server,
		namespace), authority, true)
	if transport, is := client.http.Transport.(*http.Transport); is {
		transport.TLSClientConfig.Certificates = []tls.Certificate{pair}
	}
	return client, nil
}

// ofKinds are the documents of a file of YAML that have one of the kinds.
func ofKinds(text []byte, kinds ...string) []byte {
	var kept [][]byte
	for document := range bytes.SplitSeq(text, []byte("\n---\n")) {
		for line := range bytes.Lines(document) {
			kind, found := bytes.CutPrefix(line, []byte("kind: "))
			if found && slices.Contains(kinds, string(bytes.TrimSpace(kind))) {
				kept = append(kept, document)
			}
		}
	}
	return bytes.Join(kept, []byte("\n---\n"))
}
