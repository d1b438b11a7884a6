package org.regatta.bench.pages;

/** The forms of URL in the pages. */
final class Url {
    private static final String SCHEME = "http://";

    private Url() {}

    /** @return the host of an absolute URL */
    static String host(String url) {
        String rest = url.substring(SCHEME.length());
        int slash = rest.indexOf('/');
        return slash < 0 ? rest : rest.substring(0, slash);
    }

    /**
     * @param base the absolute URL of the page that contains the link
     * @return the absolute URL of the target, without the fragment
     */
    static String resolve(String base, String link) {
        int part = link.indexOf('#');
        String target = part < 0 ? link : link.substring(0, part);
        if (target.startsWith(SCHEME)) {
            return target;
        }
        if (target.startsWith("/")) {
            return SCHEME.concat(host(base)).concat(target);
        }
        return base.substring(0, base.lastIndexOf('/') + 1).concat(target);
    }
}
