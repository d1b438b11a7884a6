package org.regatta.bench.fop;

import java.nio.charset.StandardCharsets;
import java.util.regex.Pattern;
import org.regatta.bench.OutputDigest;
import org.regatta.bench.WrongResultException;

/**
 * Reads a PDF as far as is needed to digest it: the objects, one by one.
 *
 * <p>Left out is what says when and where it was made: the objects with dates (written in the machine's time zone),
 * the bare numbers that are the lengths of other objects, and behind the last object the table of offsets and the
 * identifier that FOP makes from the time.
 */
final class PdfObjects {
    private static final String START = " 0 obj\n";
    private static final Pattern NUMBER = Pattern.compile("\\d+");

    private PdfObjects() {}

    /**
     * @param pages how many pages the PDF must have
     * @throws WrongResultException if this is no whole PDF, or has another number of pages
     */
    static void digest(byte[] bytes, int pages, OutputDigest out) throws WrongResultException {
        String pdf = new String(bytes, StandardCharsets.ISO_8859_1);
        if (!pdf.startsWith("%PDF-1.") || !pdf.trim().endsWith("%%EOF")) {
            throw new WrongResultException("no whole PDF came out, " + pdf.length() + " bytes");
        }
        int found = 0;
        int end = 0;
        for (int start = pdf.indexOf(START); start >= 0; start = pdf.indexOf(START, end)) {
            end = pdf.indexOf("\nendobj", start);
            if (end < 0) {
                throw new WrongResultException("an object at offset " + start + " of the PDF does not end");
            }
            String object = pdf.substring(start + START.length(), end);
            if (object.contains("/Type /Page\n")) {
                found++;
            }
            if (!isOfPlaceAndTime(object)) {
                out.put(object);
            }
        }
        if (found != pages || pages == 0) {
            throw new WrongResultException("the PDF has " + found + " pages, the layout " + pages);
        }
        out.put(pages);
    }

    private static boolean isOfPlaceAndTime(String object) {
        return object.contains("/CreationDate")
                || object.contains("/Type /Metadata")
                || NUMBER.matcher(object).matches();
    }
}
