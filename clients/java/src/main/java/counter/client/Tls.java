package counter.client;

/**
 * How to secure the channel; contents of PEM files. With a certificate and its key it is mTLS.
 *
 * @param ca who may sign the server's certificate; null: the authorities of Java
 * @param certificate the client's certificate, or null
 * @param key its key (PKCS 8), or null
 */
public record Tls(byte[] ca, byte[] certificate, byte[] key) {}
