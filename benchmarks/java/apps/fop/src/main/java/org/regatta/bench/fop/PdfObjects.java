package org.regatta.bench.fop;

import java.nio.charset.StandardCharsets;
import java.util.regex.Pattern;
import org.regatta.bench.OutputDigest;
import org.regatta.bench.WrongResultException;

/**
 * Parses a PDF as far as needed to digest it: object by object.
 *
 * <p>Excludes data on time and place of creation: objects with dates (written in the local time zone), and bare numbers
 * that are the lengths of other objects. Also excludes the end of the file: the table of offsets, and the identifier
 * that FOP derives from the time.
 */
final class PdfObjects {
    private static final String START = " 0 obj\n";
    private static final Pattern NUMBER = Pattern.compile("\\d+");

    private PdfObjects() {}

    /**
     * @param pages expected number of pages in the PDF
     * @throws WrongResultException if the PDF is incomplete or has another number of pages
     */
    static void digest(byte[] bytes, int pages, OutputDigest out) throws WrongResultException {
        String pdf = new String(bytes, StandardCharsets.ISO_8859_1);
        if (!pdf.startsWith("%PDF-1.") || !pdf.trim().endsWith("%%EOF")) {
            throw new WrongResultException("the PDF is incomplete, " + pdf.length() + " bytes");
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
