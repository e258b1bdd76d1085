// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package control

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

const host = "127.0.0.1"

// Credentials are what servers, webhooks and clients of one run share. The key of their authority is never stored.
type Credentials struct {
	// CA is the authority, in PEM.
	CA []byte
	// Serving is for servers and webhooks on loopback.
	Serving tls.Certificate
	// admin is for the client.
	admin tls.Certificate

	caFile, servingCrt, servingKey string
}

// NewCredentials makes certificates that are good for a day, in a directory for API servers.
func NewCredentials(dir string) (*Credentials, error) {
	caKey, err := newKey()
	if err != nil {
		return nil, err
	}
	ca := template("fairlead bench")
	ca.IsCA, ca.BasicConstraintsValid, ca.KeyUsage = true, true, x509.KeyUsageCertSign
	if ca, err = sign(ca, ca, &caKey.PublicKey, caKey); err != nil {
		return nil, err
	}
	c := &Credentials{
		CA:         toPEM("CERTIFICATE", ca.Raw),
		caFile:     filepath.Join(dir, "ca.crt"),
		servingCrt: filepath.Join(dir, "serving.crt"),
		servingKey: filepath.Join(dir, "serving.key"),
	}
	serving := template("kube-apiserver")
	serving.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	serving.DNSNames, serving.IPAddresses = []string{"localhost"}, []net.IP{net.ParseIP(host)}
	crt, key, err := issue(serving, ca, caKey)
	if err != nil {
		return nil, err
	}
	if c.Serving, err = tls.X509KeyPair(crt, key); err != nil {
		return nil, err
	}
	err = errors.Join(
		os.WriteFile(c.caFile, c.CA, 0o600), os.WriteFile(c.servingCrt, crt, 0o600), os.WriteFile(c.servingKey, key, 0o600))
	if err != nil {
		return nil, err
	}
	admin := template("admin")
	admin.Subject.Organization = []string{"system:masters"}
	admin.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	if crt, key, err = issue(admin, ca, caKey); err != nil {
		return nil, err
	}
	c.admin, err = tls.X509KeyPair(crt, key)
	return c, err
}

func template(name string) *x509.Certificate {
	return &x509.Certificate{
		Subject:   pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour),
		NotAfter:  time.Now().Add(24 * time.Hour),
		KeyUsage:  x509.KeyUsageDigitalSignature,
	}
}

// issue returns a certificate and its key, in PEM.
func issue(template, ca *x509.Certificate, caKey *ecdsa.PrivateKey) (crt, key []byte, err error) {
	own, err := newKey()
	if err != nil {
		return nil, nil, err
	}
	certificate, err := sign(template, ca, &own.PublicKey, caKey)
	if err != nil {
		return nil, nil, err
	}
	der, err := x509.MarshalECPrivateKey(own)
	if err != nil {
		return nil, nil, err
	}
	// PKCS #8 is not taken for service accounts, which this key signs for too.
	return toPEM("CERTIFICATE", certificate.Raw), toPEM("EC PRIVATE KEY", der), nil
}

func sign(
	template, parent *x509.Certificate, public *ecdsa.PublicKey, signer *ecdsa.PrivateKey,
) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	template.SerialNumber = serial
	der, err := x509.CreateCertificate(rand.Reader, template, parent, public, signer)
	if err != nil {
		return nil, err
	}
	return x509.ParseCertificate(der)
}

func newKey() (*ecdsa.PrivateKey, error) { return ecdsa.GenerateKey(elliptic.P256(), rand.Reader) }

func toPEM(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

// clientTLS is how the administrator connects to a server of this run.
func (c *Credentials) clientTLS() *tls.Config {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(c.CA)
	return &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{c.admin}, MinVersion: tls.VersionTLS12}
}
