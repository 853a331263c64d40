// SPDX-License-Identifier: Apache-2.0

package config

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/test/fixture"
	"evenkeel.dev/evenkeel/test/process"
)

// manager is the program with the flags of the installed Deployment, and with the
// token of its ServiceAccount: it has exactly the permissions of the install.
type manager struct {
	*process.Manager
	// metrics is the address that metrics are served at, and authority the file
	// with the certificate of who signed the certificate that it serves with.
	metrics, authority string
}

// startManager starts a manager; it ends with the spec or container. flags come
// after those of the Deployment.
func startManager(ctx context.Context, flags ...string) *manager {
	GinkgoHelper()
	dir, err := os.MkdirTemp(work, "manager-")
	Expect(err).NotTo(HaveOccurred())
	ports, err := process.FreePorts(1)
	Expect(err).NotTo(HaveOccurred())
	m := &manager{metrics: fmt.Sprintf("127.0.0.1:%d", ports[0]), authority: filepath.Join(dir, "certs", "ca.crt")}
	args := slices.Concat(clientAuthority(installedFlags(ctx)), []string{"--metrics-bind-address=" + m.metrics}, flags)
	m.Manager, err = process.New(process.Config{Binary: binary, Dir: dir, Kubeconfig: writeToken(ctx, dir), Args: args})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(m.Stop)
	Expect(m.Start(ctx)).To(Succeed())
	awaitAdmission(ctx)
	return m
}

// writeToken writes a kubeconfig with the ServiceAccount's token and nothing else.
func writeToken(ctx context.Context, dir string) string {
	GinkgoHelper()
	token := strings.TrimSpace(kubectl(ctx, "create", "token", "evenkeel", "--namespace="+systemNamespace))
	const name = "manager"
	config := clientcmdapi.NewConfig()
	admin := plane.Config()
	config.Clusters[name] = &clientcmdapi.Cluster{Server: admin.Host, CertificateAuthorityData: admin.CAData,
		CertificateAuthority: admin.CAFile}
	config.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: token}
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	config.CurrentContext = name
	path := filepath.Join(dir, "kubeconfig")
	Expect(clientcmd.WriteToFile(*config, path)).To(Succeed())
	return path
}

// installedFlags are the flags of the Deployment, but for those that say where a
// pod listens and keeps its files.
func installedFlags(ctx context.Context) []string {
	GinkgoHelper()
	var deployment appsv1.Deployment
	Expect(api.Get(ctx, client.ObjectKey{Namespace: systemNamespace, Name: "evenkeel"}, &deployment)).To(Succeed())
	args := deployment.Spec.Template.Spec.Containers[0].Args
	Expect(args).To(ContainElement("manager"), "the Deployment runs the manager")
	return slices.DeleteFunc(args[1:], func(arg string) bool {
		return slices.ContainsFunc(
			[]string{"--metrics-bind-address=", "--health-probe-bind-address=", "--webhook-port=", "--cert-dir="},
			func(flag string) bool { return strings.HasPrefix(arg, flag) })
	})
}

// clientAuthority puts the file of this control plane in place of the one that the
// component mutual-tls mounts.
func clientAuthority(flags []string) []string {
	for i, flag := range flags {
		if strings.HasPrefix(flag, "--webhook-client-ca-file=") {
			flags[i] = "--webhook-client-ca-file=" + plane.WebhookClientCA
		}
	}
	return flags
}

// awaitAdmission waits until policies are judged when they are written.
func awaitAdmission(ctx context.Context) {
	GinkgoHelper()
	broken := fixture.Policy("awaits-admission", "nowhere", "no rego at all")
	Eventually(ctx, func() error {
		return api.Create(ctx, broken.DeepCopy(), client.DryRunAll)
	}).Should(MatchError(ContainSubstring("can't be accepted")))
}
