package org.regatta.bench.pages;

import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.File;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.io.Reader;
import java.io.Writer;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.StringTokenizer;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The results of a scan of pages: words, tags and links. */
final class PageScan implements PageParser.Handler {
    private static final Pattern ATTRIBUTE = Pattern.compile("([A-Za-z]+)=\"([^\"]*)\"");
    private static final int MOST_WORDS = 500;

    private final PageParser parser = new PageParser();
    private final Map<String, Integer> words = new HashMap<>();
    private final Map<String, Integer> tags = new TreeMap<>();
    private final Map<String, String> entities = new HashMap<>();
    /** target to the pages with a link to it */
    private final Map<String, List<String>> links = new HashMap<>();
    private String url;

    PageScan() {
        entities.put("&amp;", "and");
        entities.put("&lt;", "less");
        entities.put("&gt;", "greater");
    }

    /** @param list a file with one line per page: file in the same folder, charset, URL */
    void scan(File list) throws IOException {
        try (BufferedReader lines = reader(list, StandardCharsets.US_ASCII)) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                StringTokenizer fields = new StringTokenizer(line);
                File file = new File(list.getParentFile(), fields.nextToken());
                Charset charset = Charset.forName(fields.nextToken());
                url = fields.nextToken();
                try (Reader page = reader(file, charset)) {
                    parser.parse(page, this);
                }
            }
        }
    }

    @Override
    public void tag(String tag) {
        StringTokenizer parts = new StringTokenizer(tag);
        if (!parts.hasMoreTokens()) {
            return;
        }
        String name = parts.nextToken().toLowerCase();
        count(tags, name);
        if (!name.equals("a") && !name.equals("img")) {
            return;
        }
        Matcher attributes = ATTRIBUTE.matcher(tag);
        while (attributes.find()) {
            String attribute = attributes.group(1).toLowerCase();
            if (attribute.equals("href") || attribute.equals("src")) {
                link(Url.resolve(url, attributes.group(2)));
            }
        }
    }

    @Override
    public void text(String text) {
        StringTokenizer tokens = new StringTokenizer(text);
        while (tokens.hasMoreTokens()) {
            String word = tokens.nextToken();
            if (word.startsWith("&")) {
                String meaning = entities.get(word);
                word = meaning == null ? word : meaning;
            } else if (word.endsWith(".")) {
                word = word.substring(0, word.length() - 1);
            }
            count(words, word.toLowerCase());
        }
    }

    /** @return number of different words and links */
    int size() {
        return words.size() + links.size();
    }

    /** Write the most frequent words, all tags, and all links by target. */
    void report(File file) throws IOException {
        try (Writer out =
                new BufferedWriter(new OutputStreamWriter(new FileOutputStream(file), StandardCharsets.UTF_8))) {
            List<Map.Entry<String, Integer>> byCount = new ArrayList<>(words.entrySet());
            Collections.sort(byCount, PageScan::compare);
            section(out, "words", byCount.subList(0, Math.min(MOST_WORDS, byCount.size())));
            section(out, "tags", tags.entrySet());
            out.write("links");
            out.write("\n");
            for (Map.Entry<String, List<String>> entry : new TreeMap<>(links).entrySet()) {
                List<String> pages = entry.getValue();
                Collections.sort(pages);
                line(out, entry.getKey(), pages.size());
                for (String page : pages) {
                    out.write("\t");
                    out.write(page);
                    out.write("\n");
                }
            }
        }
    }

    private static BufferedReader reader(File file, Charset charset) throws IOException {
        return new BufferedReader(new InputStreamReader(new FileInputStream(file), charset));
    }

    private static void count(Map<String, Integer> counts, String name) {
        Integer count = counts.get(name);
        counts.put(name, count == null ? 1 : count + 1);
    }

    private void link(String target) {
        List<String> pages = links.get(target);
        if (pages == null) {
            pages = new ArrayList<>();
            links.put(target, pages);
        }
        pages.add(url);
    }

    private static void section(Writer out, String name, Iterable<Map.Entry<String, Integer>> counts)
            throws IOException {
        out.write(name);
        out.write("\n");
        for (Map.Entry<String, Integer> entry : counts) {
            line(out, entry.getKey(), entry.getValue());
        }
    }

    private static void line(Writer out, String name, int count) throws IOException {
        out.write(Integer.toString(count));
        out.write("\t");
        out.write(name);
        out.write("\n");
    }

    /** Most frequent first, words of equal frequency in alphabetical order. */
    private static int compare(Map.Entry<String, Integer> one, Map.Entry<String, Integer> other) {
        int order = other.getValue().compareTo(one.getValue());
        return order != 0 ? order : one.getKey().compareTo(other.getKey());
    }
}
