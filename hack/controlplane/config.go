// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"bytes"
	"embed"
	"encoding/base64"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"evenkeel.dev/evenkeel/hack/controlplane/internal/pki"
)

// stageFiles describe how the fake nodes and pods behave.
//
//go:embed stages/*.yaml
var stageFiles embed.FS

const (
	adminUser = "admin"
	mastersOU = "system:masters"
)

const kubeconfigTemplate = `apiVersion: v1
kind: Config
clusters:
- name: evenkeel
  cluster:
    server: %s
    certificate-authority-data: %s
users:
- name: %[3]s
  user:
    client-certificate-data: %[4]s
    client-key-data: %[5]s
contexts:
- name: evenkeel
  context:
    cluster: evenkeel
    user: %[3]s
current-context: evenkeel
`

const schedulerTemplate = `apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
enableProfiling: false
leaderElection:
  leaderElect: false
clientConnection:
  kubeconfig: %q
  qps: 200
  burst: 400
podInitialBackoffSeconds: 1
podMaxBackoffSeconds: 2
`

// admissionTemplate has the API server show webhooks who it is.
const admissionTemplate = `apiVersion: apiserver.config.k8s.io/v1
kind: AdmissionConfiguration
plugins:
- name: ValidatingAdmissionWebhook
  configuration: &webhooks
    apiVersion: apiserver.config.k8s.io/v1
    kind: WebhookAdmissionConfiguration
    kubeConfigFile: %q
- name: MutatingAdmissionWebhook
  configuration: *webhooks
`

// webhooksTemplate is the user that every webhook gets to see.
const webhooksTemplate = `apiVersion: v1
kind: Config
users:
- name: "*"
  user:
    client-certificate: %q
    client-key: %q
`

// writeFiles makes every file that the components and the user need.
func (i *Instance) writeFiles(now time.Time) error {
	for _, dir := range []string{"config", "logs"} {
		if err := os.MkdirAll(filepath.Join(i.dir, dir), 0o700); err != nil {
			return fmt.Errorf("make the instance's folder: %w", err)
		}
	}
	if err := i.writeCertificates(now); err != nil {
		return err
	}
	for user, path := range map[string]string{
		adminUser:                 i.Kubeconfig(),
		string(ControllerManager): i.config("kube-controller-manager.kubeconfig"),
		string(Scheduler):         i.config("kube-scheduler.kubeconfig"),
		string(KWOK):              i.config("kwok.kubeconfig"),
	} {
		if err := i.writeKubeconfig(user, path); err != nil {
			return err
		}
	}
	for path, text := range map[string]string{
		i.config("kube-scheduler.yaml"): fmt.Sprintf(schedulerTemplate, i.config("kube-scheduler.kubeconfig")),
		i.config("admission.yaml"):      fmt.Sprintf(admissionTemplate, i.config("webhooks.kubeconfig")),
		i.config("webhooks.kubeconfig"): fmt.Sprintf(webhooksTemplate, i.pki("webhooks/apiserver.crt"),
			i.pki("webhooks/apiserver.key")),
	} {
		if err := writeFile(path, []byte(text)); err != nil {
			return err
		}
	}
	stages, err := joinStages()
	if err != nil {
		return err
	}
	return writeFile(i.config("kwok.yaml"), stages)
}

func (i *Instance) writeCertificates(now time.Time) error {
	authority, err := pki.NewAuthority(i.pki(""), now)
	if err != nil {
		return err
	}
	names := []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc",
		"kubernetes.default.svc.cluster.local"}
	if err := authority.Server("server", names, []net.IP{net.IPv4(127, 0, 0, 1), net.IPv4(10, 96, 0, 1)}); err != nil {
		return err
	}
	if err := authority.SigningKey("service-account"); err != nil {
		return err
	}
	// What webhooks know the API server by vouches for nobody else.
	webhooks, err := pki.NewAuthority(i.pki("webhooks"), now)
	if err != nil {
		return err
	}
	if err := webhooks.Client("apiserver", string(APIServer)); err != nil {
		return err
	}
	for _, client := range []struct{ name, user, group string }{
		{adminUser, adminUser, mastersOU},
		{"etcd-client", string(APIServer), "etcd-clients"},
		{string(ControllerManager), "system:kube-controller-manager", ""},
		{string(Scheduler), "system:kube-scheduler", ""},
		{string(KWOK), "kwok", mastersOU},
	} {
		var groups []string
		if client.group != "" {
			groups = []string{client.group}
		}
		if err := authority.Client(client.name, client.user, groups...); err != nil {
			return err
		}
	}
	return nil
}

func (i *Instance) writeKubeconfig(user, path string) error {
	var data [3]string
	for n, file := range []string{"ca.crt", user + ".crt", user + ".key"} {
		text, err := os.ReadFile(i.pki(file))
		if err != nil {
			return fmt.Errorf("write %s: %w", path, err)
		}
		data[n] = base64.StdEncoding.EncodeToString(text)
	}
	text := fmt.Sprintf(kubeconfigTemplate, i.Server(), data[0], user, data[1], data[2])
	return writeFile(path, []byte(text))
}

func joinStages() ([]byte, error) {
	entries, err := stageFiles.ReadDir("stages")
	if err != nil {
		return nil, fmt.Errorf("list the embedded stages: %w", err)
	}
	var all bytes.Buffer
	for _, entry := range entries {
		text, err := stageFiles.ReadFile("stages/" + entry.Name())
		if err != nil {
			return nil, fmt.Errorf("read the embedded stage %s: %w", entry.Name(), err)
		}
		fmt.Fprintf(&all, "---\n%s", text)
	}
	return all.Bytes(), nil
}

func writeFile(path string, text []byte) error {
	if err := os.WriteFile(path, text, 0o600); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
