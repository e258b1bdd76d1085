// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package localserver

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

const (
	validity = 365 * 24 * time.Hour
	// renewBefore is how long certificates must be valid at the start, because a server may run for a while.
	renewBefore = 30 * 24 * time.Hour
	clockSkew   = time.Hour

	caFile             = "ca.crt"
	servingName        = "serving"
	adminName          = "admin"
	serviceAccountFile = "service-account.key"
)

// credentials are what a client needs to reach the server as its administrator.
type credentials struct {
	ca, crt, key []byte // PEM
	admin        tls.Certificate
}

// ensureCredentials renews all certificates in a directory unless they are complete, match and remain valid for a while.
// The key of the authority is never stored, so certificates are renewed together. The key that signs the tokens of
// service accounts does not expire and is kept.
func ensureCredentials(dir string, now time.Time) (*credentials, error) {
	if err := ensureServiceAccountKey(filepath.Join(dir, serviceAccountFile)); err != nil {
		return nil, err
	}
	if checkPair(dir, servingName, x509.ExtKeyUsageServerAuth, now) != nil ||
		checkPair(dir, adminName, x509.ExtKeyUsageClientAuth, now) != nil {
		if err := renewCertificates(dir, now); err != nil {
			return nil, fmt.Errorf("make certificates: %w", err)
		}
	}
	return readCredentials(dir)
}

func readCredentials(dir string) (*credentials, error) {
	c := &credentials{}
	var errs [3]error
	c.ca, errs[0] = os.ReadFile(filepath.Join(dir, caFile))
	c.crt, errs[1] = os.ReadFile(filepath.Join(dir, adminName+".crt"))
	c.key, errs[2] = os.ReadFile(filepath.Join(dir, adminName+".key"))
	if err := errors.Join(errs[:]...); err != nil {
		return nil, err
	}
	var err error
	c.admin, err = tls.X509KeyPair(c.crt, c.key)
	return c, err
}

// tls returns how the administrator connects.
func (c *credentials) tls() *tls.Config {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(c.ca)
	return &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{c.admin}, MinVersion: tls.VersionTLS12}
}

// checkPair returns what is wrong with a certificate, its key or its authority, now or soon.
func checkPair(dir, name string, usage x509.ExtKeyUsage, now time.Time) error {
	pair, err := tls.LoadX509KeyPair(filepath.Join(dir, name+".crt"), filepath.Join(dir, name+".key"))
	if err != nil {
		return err
	}
	ca, err := os.ReadFile(filepath.Join(dir, caFile))
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	for _, at := range []time.Time{now, now.Add(renewBefore)} {
		options := x509.VerifyOptions{Roots: roots, CurrentTime: at, KeyUsages: []x509.ExtKeyUsage{usage}}
		if usage == x509.ExtKeyUsageServerAuth {
			options.DNSName = Host
		}
		if _, err := pair.Leaf.Verify(options); err != nil {
			return err
		}
	}
	return nil
}

func renewCertificates(dir string, now time.Time) error {
	key, err := newKey()
	if err != nil {
		return err
	}
	ca, err := sign(newCA(), nil, &key.PublicKey, key, now)
	if err != nil {
		return err
	}
	serving := &x509.Certificate{
		Subject:     pkix.Name{CommonName: "kube-apiserver"},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames:    []string{"localhost"},
		IPAddresses: []net.IP{net.ParseIP(Host)},
	}
	// The usage keeps the server's certificate from being that of a client, so one authority is enough for both.
	admin := &x509.Certificate{
		Subject:     pkix.Name{CommonName: "admin", Organization: []string{"system:masters"}},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	return errors.Join(
		writePEM(filepath.Join(dir, caFile), "CERTIFICATE", ca.Raw),
		issue(filepath.Join(dir, servingName), serving, ca, key, now),
		issue(filepath.Join(dir, adminName), admin, ca, key, now),
	)
}

func newCA() *x509.Certificate {
	return &x509.Certificate{
		Subject:               pkix.Name{CommonName: "fairlead"},
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign,
	}
}

// issue writes a certificate to base.crt and its key to base.key.
func issue(base string, template, ca *x509.Certificate, caKey *ecdsa.PrivateKey, now time.Time) error {
	key, err := newKey()
	if err != nil {
		return err
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	certificate, err := sign(template, ca, &key.PublicKey, caKey, now)
	if err != nil {
		return err
	}
	return errors.Join(writePEM(base+".crt", "CERTIFICATE", certificate.Raw), writeKey(base+".key", key))
}

// sign returns a certificate. Without a parent it is self-signed.
func sign(template, parent *x509.Certificate, public *ecdsa.PublicKey, signer *ecdsa.PrivateKey, now time.Time) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	if parent == nil {
		parent = template
	}
	template.SerialNumber = serial
	template.NotBefore = now.Add(-clockSkew)
	template.NotAfter = now.Add(validity)
	der, err := x509.CreateCertificate(rand.Reader, template, parent, public, signer)
	if err != nil {
		return nil, err
	}
	return x509.ParseCertificate(der)
}

func newKey() (*ecdsa.PrivateKey, error) { return ecdsa.GenerateKey(elliptic.P256(), rand.Reader) }

func ensureServiceAccountKey(path string) error {
	_, err := os.Stat(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	key, err := newKey()
	if err != nil {
		return err
	}
	return writeKey(path, key)
}

func writeKey(path string, key *ecdsa.PrivateKey) error {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	return writePEM(path, "EC PRIVATE KEY", der) // the API server takes no PKCS #8 for service accounts
}

func writePEM(path, kind string, der []byte) error {
	return writeFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}

// writeFile replaces a file at once, readable by its owner only.
func writeFile(path string, data []byte) error {
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*") // with mode 0600
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	if err = errors.Join(err, file.Close()); err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	return os.Rename(file.Name(), path)
}

const kubeconfig = `apiVersion: v1
kind: Config
current-context: fairlead
contexts:
- name: fairlead
  context: {cluster: fairlead, user: fairlead}
clusters:
- name: fairlead
  cluster: {server: "%s", certificate-authority-data: %s}
users:
- name: fairlead
  user: {client-certificate-data: %s, client-key-data: %s}
`

func writeKubeconfig(path, url string, c *credentials) error {
	data := base64.StdEncoding.EncodeToString
	return writeFile(path, fmt.Appendf(nil, kubeconfig, url, data(c.ca), data(c.crt), data(c.key)))
}
