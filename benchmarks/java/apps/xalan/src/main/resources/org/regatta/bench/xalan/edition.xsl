<?xml version="1.0" encoding="UTF-8"?>
<!-- A new edition of the archive: a copy in which some things are renamed, sorted, left out or added. -->
<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform">
  <xsl:output method="xml" encoding="UTF-8" indent="yes"/>
  <xsl:strip-space elements="*"/>
  <xsl:decimal-format name="comma" decimal-separator="," grouping-separator="."/>
  <xsl:key name="author" match="author" use="@id"/>

  <xsl:template match="@*|node()">
    <xsl:copy><xsl:apply-templates select="@*|node()"/></xsl:copy>
  </xsl:template>

  <xsl:template match="section">
    <xsl:copy>
      <xsl:apply-templates select="title"/>
      <xsl:apply-templates select="article">
        <xsl:sort select="@cents" data-type="number"/>
        <xsl:sort select="@id"/>
      </xsl:apply-templates>
      <xsl:apply-templates select="section"/>
    </xsl:copy>
  </xsl:template>

  <xsl:template match="@cents">
    <xsl:attribute name="price">
      <xsl:value-of select="format-number(. div 100, '#.##0,00', 'comma')"/>
    </xsl:attribute>
  </xsl:template>

  <xsl:template match="@author">
    <xsl:attribute name="by"><xsl:value-of select="key('author', .)"/></xsl:attribute>
  </xsl:template>

  <xsl:template match="em"><strong><xsl:value-of select="."/></strong></xsl:template>
  <xsl:template match="article[@kind = 'letter']/para[position() > 1]"/>

  <xsl:template match="cites">
    <xsl:copy>
      <xsl:copy-of select="@ref"/>
      <xsl:number count="cites" from="archive" level="any"/>
    </xsl:copy>
  </xsl:template>
</xsl:stylesheet>
