// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"k8s.io/apiserver/pkg/util/webhook"
)

// yamlBlock is a block of YAML of a page, indented or not.
var yamlBlock = regexp.MustCompile("(?ms)^( *)```yaml\n(.*?)^ *```$")

// The API server itself finds in the documented kubeconfig what to show to whom.
func TestTheAPIServerShowsTheDocumentedCertificate(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs", "certificates.md"))
	if err != nil {
		t.Fatal(err)
	}
	var config string
	for _, block := range yamlBlock.FindAllStringSubmatch(string(page), -1) {
		if strings.Contains(block[2], "kind: Config\n") {
			config = strings.ReplaceAll("\n"+block[2], "\n"+block[1], "\n")
		}
	}
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	resolver, err := webhook.NewDefaultAuthenticationInfoResolver(file)
	if err != nil {
		t.Fatalf("the kubeconfig of docs/certificates.md: %v", err)
	}
	const want = "/etc/kubernetes/webhooks/apiserver.crt"
	service, err := resolver.ClientConfigForService("evenkeel-webhook", "evenkeel-system", 443)
	if err != nil || service.CertFile != want {
		t.Errorf("the webhook's Service is shown %q (%v)", service.CertFile, err)
	}
	address, err := resolver.ClientConfigFor("localhost:9443")
	if err != nil || address.CertFile != want {
		t.Errorf("a manager at an address is shown %q (%v)", address.CertFile, err)
	}
	other, err := resolver.ClientConfigForService("another", "evenkeel-system", 443)
	if err != nil || other.CertFile != "" {
		t.Errorf("another webhook is shown %q (%v)", other.CertFile, err)
	}
}
