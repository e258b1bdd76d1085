// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

const (
	validity = 365 * 24 * time.Hour
	// renewBefore is how much life certificates must have left at the start: a server may run for a while.
	renewBefore = 30 * 24 * time.Hour
	clockSkew   = time.Hour

	serverCAFile       = "server-ca.crt"
	clientCAFile       = "client-ca.crt"
	servingName        = "serving"
	adminName          = "admin"
	serviceAccountFile = "service-account.key"
)

// credentials are what a client needs to reach the server as its administrator.
type credentials struct {
	serverCA []byte // PEM
	admin    tls.Certificate
	adminCrt []byte // PEM
	adminKey []byte // PEM
}

// ensureCredentials renews all certificates in dir unless they are complete, fit together and last for a while. The
// keys of the authorities are never stored, therefore certificates are renewed together. The key that signs service
// account tokens has no end and is kept.
func ensureCredentials(dir string, now time.Time) (*credentials, error) {
	if err := ensureServiceAccountKey(filepath.Join(dir, serviceAccountFile)); err != nil {
		return nil, err
	}
	if checkPair(dir, serverCAFile, servingName, x509.ExtKeyUsageServerAuth, now) != nil ||
		checkPair(dir, clientCAFile, adminName, x509.ExtKeyUsageClientAuth, now) != nil {
		if err := renewCertificates(dir, now); err != nil {
			return nil, fmt.Errorf("make certificates: %w", err)
		}
	}
	return readCredentials(dir)
}

func readCredentials(dir string) (*credentials, error) {
	c := &credentials{}
	var err error
	if c.serverCA, err = os.ReadFile(filepath.Join(dir, serverCAFile)); err != nil {
		return nil, err
	}
	if c.adminCrt, err = os.ReadFile(filepath.Join(dir, adminName+".crt")); err != nil {
		return nil, err
	}
	if c.adminKey, err = os.ReadFile(filepath.Join(dir, adminName+".key")); err != nil {
		return nil, err
	}
	c.admin, err = tls.X509KeyPair(c.adminCrt, c.adminKey)
	return c, err
}

// checkPair says what is wrong with a certificate, its key or its authority, now or soon.
func checkPair(dir, caFile, name string, usage x509.ExtKeyUsage, now time.Time) error {
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
			options.DNSName = host
		}
		if _, err := pair.Leaf.Verify(options); err != nil {
			return err
		}
	}
	return nil
}

func renewCertificates(dir string, now time.Time) error {
	serverCA, err := newAuthority("fairlead server", now)
	if err != nil {
		return err
	}
	clientCA, err := newAuthority("fairlead clients", now)
	if err != nil {
		return err
	}
	serving := &x509.Certificate{
		Subject:     pkix.Name{CommonName: "kube-apiserver"},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames:    []string{"localhost"},
		IPAddresses: []net.IP{net.ParseIP(host)},
	}
	admin := &x509.Certificate{
		Subject:     pkix.Name{CommonName: "admin", Organization: []string{"system:masters"}},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	return errors.Join(
		writePEM(filepath.Join(dir, serverCAFile), "CERTIFICATE", serverCA.certificate.Raw),
		writePEM(filepath.Join(dir, clientCAFile), "CERTIFICATE", clientCA.certificate.Raw),
		serverCA.issue(dir, servingName, serving, now),
		clientCA.issue(dir, adminName, admin, now),
	)
}

// authority signs certificates for as long as the process lives.
type authority struct {
	certificate *x509.Certificate
	key         crypto.Signer
}

func newAuthority(name string, now time.Time) (*authority, error) {
	key, err := newKey()
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: name},
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign,
	}
	certificate, err := sign(template, template, key.Public(), key, now)
	return &authority{certificate, key}, err
}

// issue writes name.crt and name.key.
func (a *authority) issue(dir, name string, template *x509.Certificate, now time.Time) error {
	key, err := newKey()
	if err != nil {
		return err
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	certificate, err := sign(template, a.certificate, key.Public(), a.key, now)
	if err != nil {
		return err
	}
	return errors.Join(
		writePEM(filepath.Join(dir, name+".crt"), "CERTIFICATE", certificate.Raw),
		writeKey(filepath.Join(dir, name+".key"), key),
	)
}

func sign(template, parent *x509.Certificate, public crypto.PublicKey, signer crypto.Signer, now time.Time) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
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
	return writePEM(path, "EC PRIVATE KEY", der) // PKCS #8 is not taken for service accounts
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

// writeKubeconfig writes a kubeconfig that needs no other file.
func writeKubeconfig(path, url string, c *credentials) error {
	const name = "fairlead"
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &clientcmdapi.Cluster{Server: url, CertificateAuthorityData: c.serverCA}
	config.AuthInfos[name] = &clientcmdapi.AuthInfo{ClientCertificateData: c.adminCrt, ClientKeyData: c.adminKey}
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	config.CurrentContext = name
	data, err := clientcmd.Write(*config)
	if err != nil {
		return err
	}
	return writeFile(path, data)
}
